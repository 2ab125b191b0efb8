import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  branchRecord,
  repositoryRecord,
  useGitServer,
} from '../../../client/support/git-server.ts';
import { startFake, type FakeServer, type Reply } from '../../../support/server.ts';
import { createWorld, invoke, type Ended, type World } from '../../../support/world.ts';
import { git, json, makeRepository } from '../support.ts';

/** A world in which a model is set, and a checkout in it. */
let world: World;
let repository: string;
beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
  // The wizard asks for a message, and a message needs a model: it must be set, and is not called.
  for (const setting of ['llm_model=openai/none', 'llm_base_url=http://127.0.0.1:9/v1'])
    await world.acs('settings', 'set', setting);
  repository = await makeRepository(path.join(world.dir, 'repository'));
});
afterAll(() => world.close());

/** Runs `conv new` on a terminal; each question gets the next of `answers`. */
function onTerminal(
  cwd: string,
  args: string[],
  answers: (string | boolean)[],
  at = world,
): Promise<Ended> {
  return invoke({ args: ['conv', 'new', ...args], cwd, answers, env: at.env });
}

describe('conv new without a message, on a terminal', () => {
  const TASK = 'What should the agent do? (empty opens your editor)';

  it('asks for the task alone, after a line with what it starts on', async () => {
    const home = path.dirname(repository);
    const asked = await invoke({
      args: ['conv', 'new', '--spec', 'process', '--dry-run'],
      cwd: repository,
      answers: ['Repair the tests'],
      env: { ...world.env, HOME: home },
    });
    expect(asked.questions).toEqual([TASK]);
    expect(asked.err).toContain(
      '~/repository, main, model openai/none, spec process; edit with e\n',
    );
    expect(asked.out).toContain('"text": "Repair the tests"');
    expect(asked.code, asked.err).toBe(0);
  });

  it('asks for the rest after an e, and for the task again', async () => {
    const asked = await onTerminal(
      repository,
      ['--spec', 'process', '--dry-run'],
      ['e', 'here', '', 'openai/other', 'process', 'Do it'],
    );
    expect(asked.questions).toEqual([
      TASK,
      `Repository [${repository} | none | another repository]`,
      'Branch',
      'Model',
      expect.stringContaining('Sandbox spec'),
      TASK,
    ]);
    expect(asked.err).toMatch(/main, model openai\/other, spec process; edit with e\n/);
    expect(asked.out).toContain('"llm_model": "openai/other"');
    expect(asked.code, asked.err).toBe(0);
  });

  it('opens the editor for an empty message', async () => {
    const asked = await onTerminal(
      repository,
      ['--no-repo', '--spec', 'process', '--dry-run'],
      ['', `One\nTwo\n\n# What should the agent do? This line is removed.\n`],
    );
    expect(asked.questions[1]).toContain('editor');
    expect(asked.out).toContain('"text": "One\\nTwo"');
  });

  it('names a repository without a commit before any question', async () => {
    const cwd = path.join(world.dir, 'unborn');
    await git(world.dir, 'init', '-q', '-b', 'main', cwd);
    const asked = await onTerminal(cwd, [], []);
    expect(asked).toMatchObject({ code: 5, questions: [] });
    expect(asked.err).toContain(`${cwd} has no commit yet; nothing was started`);
  });

  it('asks for the branch when HEAD is detached', async () => {
    const cwd = path.join(world.dir, 'detached');
    await git(world.dir, 'clone', '-q', repository, cwd);
    await git(cwd, 'switch', '-q', '--detach');
    const asked = await onTerminal(cwd, ['--spec', 'process', '--dry-run'], ['main', 'Do it']);
    expect(asked.questions[0]).toContain('(detached HEAD). Branch');
    expect(asked.out).toContain('"selected_branch": "main"');
  });

  it('--no-input prevents every prompt', async () => {
    const asked = await onTerminal(repository, ['--no-input'], []);
    expect(asked).toMatchObject({ code: 2, questions: [] });
  });

  it('checks a branch and a repository when they are entered', async () => {
    const folder = path.join(world.dir, 'empty');
    await mkdir(folder);
    const asked = await onTerminal(
      folder,
      ['--spec', 'process', '--dry-run'],
      [
        ...['e', 'other', 'nonsense', './nowhere', `file://${world.dir}/nowhere.git`, repository],
        ...['no-such-branch', 'main', '', 'process', 'Do it'],
      ],
    );
    const question = 'Repository (owner/name, a URL or a path)';
    const branch = "Branch (empty: the repository's default)";
    expect(asked.questions.slice(1, 9)).toEqual([
      'Repository [none | another repository]',
      question,
      `${question} not a repository`,
      `${question} no git checkout at ./nowhere`,
      `${question} git cannot read file://${world.dir}/nowhere.git`,
      branch,
      `${branch} ${repository} has no branch "no-such-branch"`,
      'Model',
    ]);
    expect(asked.out).toContain('"selected_branch": "main"');
    expect(asked.code, asked.err).toBe(0);
  });

  it('prints a message of the editor when the start fails, and leaves no file', async () => {
    const body = path.join(world.dir, 'body.json');
    await writeFile(body, '{"brand_new": true}');
    const args = ['--no-repo', '--spec', 'process', '--body', body];
    const before = await readdir(tmpdir());
    const asked = await onTerminal(repository, args, ['', 'Do it all']);
    expect(asked.code, asked.err).toBe(12);
    expect(asked.err).toContain('the message was not sent:\n  Do it all\n');
    const left = (await readdir(tmpdir())).filter((name) => !before.includes(name));
    expect(left.filter((name) => /^acs-(edit|message)/.test(name))).toEqual([]);
  });
});

describe('conv new with a model and without bubblewrap, on a terminal', () => {
  const QUESTION = 'Run its commands with your own rights, and ask you before each one?';
  const NAMES = ['default_sandbox_spec_id', 'confirmation_mode', 'security_analyzer'];
  let bare: World;
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'acs-git-'));
    const { stdout } = await promisify(execFile)('which', ['git']);
    await symlink(stdout.trim(), path.join(folder, 'git'));
    bare = await createWorld({ api: 'v1', path: folder });
    await bare.acs(
      'settings',
      'set',
      'llm_model=openai/none',
      'llm_base_url=http://127.0.0.1:9/v1',
    );
  });
  afterEach(async () => {
    await bare.close();
    await rm(folder, { recursive: true });
  });

  it.each([[['Do it'], [true]] as const, [[], ['Do it', true]] as const])(
    'with the arguments %j asks once for the own rights of the user, stores them and starts',
    async (args, answers) => {
      const asked = await onTerminal(repository, [...args, '--no-repo'], [...answers], bare);
      expect(asked.code, asked.err).toBe(0);
      expect(asked.questions.at(-1)).toBe(QUESTION);
      const err = asked.err.replace(/\s+/g, ' ');
      expect(err).toContain('bubblewrap (bwrap) is not installed');
      expect(err).toContain(`undo it: acs settings unset ${NAMES.join(' ')} `);
      const shown = json<Record<string, unknown>>(await bare.acs('settings', 'show', '--json'));
      expect(NAMES.map((name) => shown[name])).toEqual(['process', true, 'none']);
      const again = await onTerminal(repository, ['Do it', '--no-repo'], [], bare);
      expect(again).toMatchObject({ code: 0, questions: [] });
      await bare.acs('settings', 'unset', ...NAMES);
      const { code } = await bare.acs('conv', 'new', 'Do it', '--no-repo');
      expect(code).toBe(12);
    },
  );

  it('exits 12 and stores nothing after a no, and offers no spec that is refused', async () => {
    const asked = await onTerminal(
      repository,
      ['--no-repo'],
      ['e', 'none', '', 'Do it', false],
      bare,
    );
    expect(asked.code, asked.err).toBe(12);
    expect(asked.questions.filter((each) => each.includes('Sandbox spec'))).toEqual([]);
    expect(asked.err).toContain('nothing was started, because the answer was no');
    const shown = json<Record<string, unknown>>(await bare.acs('settings', 'show', '--json'));
    expect(NAMES.map((name) => shown[name])).toEqual([null, false, 'llm']);
  });
});

describe('conv new without a message and without a model, on a terminal', () => {
  let bare: World;
  beforeAll(async () => {
    bare = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => bare.close());

  it('offers the demo before the first question and starts it', async () => {
    const asked = await onTerminal(repository, ['--no-repo', '--wait'], ['demo'], bare);
    expect(asked.questions[0]).toContain('run the demo | use another server]');
    expect(asked.code, asked.err).toBe(0);
    expect(asked.err).toMatch(/take the changes: acs conv pull [0-9a-f]{8} -o <folder>\n$/);
  });

  describe('on the machine of the service', () => {
    let endpoint: FakeServer;
    let url = '';
    const keys: (string | undefined)[] = [];
    /** Without a key these are refused; another key than sk-right is by none but the list. */
    let guarded: string[] = [];
    const onMachine = (args: string[], answers: (string | boolean)[]): Promise<Ended> =>
      onTerminal(repository, args, answers, {
        ...bare,
        env: { ...bare.env, ACS_DATA_DIR: bare.dataDir },
      });
    const settings = async () =>
      json(await bare.acs('settings', 'get', 'llm_model', 'llm_base_url', 'llm_api_key', '--json'));
    beforeAll(async () => {
      endpoint = await startFake(
        ({ path: route, headers: { authorization } }) => {
          const isList = route === '/v1/models';
          // Other programs of this machine look for a model at these ports too.
          if (route === '/v1/chat/completions') keys.push(authorization);
          const isRefused = authorization === undefined ? guarded.includes(route) : !isList;
          return {
            status: isRefused && authorization !== 'Bearer sk-right' ? 401 : 200,
            json: isList ? { data: [{ id: 'small' }, { id: 'large' }] } : { choices: [] },
          };
        },
        // Of Ollama, llama.cpp and LM Studio; another run of the tests may have the others.
        { ports: [1234, 11_434, 8080] },
      );
      url = `${endpoint.url}/v1`;
    });
    afterEach(async () => {
      guarded = [];
      await bare.acs('settings', 'unset', 'llm_model', 'llm_base_url', 'llm_api_key');
    });
    afterAll(() => endpoint.close());

    it('finds a model, calls it, stores it and continues with the task', async () => {
      const asked = await onMachine(['--no-repo'], ['model', url, 'large', 'Do it']);
      expect(asked.questions[0]).toContain('set up a model | run the demo |');
      expect(asked.questions.slice(1, 3)).toEqual([
        expect.stringMatching(/^Where is the model\? \[.* \| another URL\]$/),
        'Model [small | large]',
      ]);
      expect(asked.err).toContain(`the model large at ${url} answers and is stored`);
      expect(asked.err).toContain('no repository, model large; edit with e');
      expect(await settings()).toEqual({
        llm_model: 'large',
        llm_base_url: url,
        llm_api_key: null,
      });
    });

    it('asks again for a URL, a model or a key that does not work', async () => {
      const answers = [
        'model',
        '',
        'ftp://x',
        'http://u:p@x',
        'http://127.0.0.1:9/v1',
        url,
        'sk-wrong',
        'small',
      ];
      const asked = await onMachine(
        ['--dry-run'],
        [...answers, 'URL', '', '', 'sk-wrong', 'small', 'key', 'sk-right'],
      );
      const question = 'URL of the OpenAI-compatible endpoint';
      expect(asked.questions.slice(2)).toEqual([
        question,
        `${question} an http or https URL is needed, without a user name`,
        `${question} an http or https URL is needed, without a user name`,
        `${question} nothing listens at 127.0.0.1:9 (connection refused)`,
        'Key (empty: none)',
        'Model [small | large]',
        'What do you want to change? [key | model | URL | nothing, stop here]',
        expect.stringContaining('Where is the model?'),
        question,
        'Key (empty: none)',
        'Model [small | large]',
        'What do you want to change? [key | model | URL | nothing, stop here]',
        'Key (empty: none)',
      ]);
      expect(asked.err).toContain('refuses the key');
      expect(asked.out).toContain(`"base_url": "${url}"`);
      expect(asked.out + asked.err).not.toMatch(/sk-(?:wrong|right)/);
      expect(keys.slice(-2)).toEqual(['Bearer sk-wrong', 'Bearer sk-right']);
      expect(asked.code, asked.err).toBe(0);
      expect(await settings()).toMatchObject({ llm_model: null });
    });

    it.each([
      ['for its models', ['/v1/models'], ['sk-right', 'small']],
      ['for a call alone', ['/v1/chat/completions'], ['small', 'sk-right']],
    ])(
      'asks for the key of an endpoint on this machine that requires one %s',
      async (_, paths, answers) => {
        guarded = paths;
        const asked = await onMachine(['--dry-run'], ['model', url, ...answers]);
        expect(asked.code, asked.err).toBe(0);
        expect(asked.questions[1]).toContain('Where is the model?');
        expect(asked.questions.slice(2).sort()).toEqual([
          'Key (empty: none)',
          'Model [small | large]',
        ]);
        expect(keys.at(-1)).toBe('Bearer sk-right');
      },
    );

    describe('at another URL', () => {
      let other: FakeServer;
      let ids: string[] = [];
      let refusal: Reply | null = null;
      beforeAll(async () => {
        const page = { text: '<p>', type: 'text/html' };
        other = await startFake(({ path: route, body }) => {
          if (route === '/v1/models') return { json: { data: ids.map((id) => ({ id })) } };
          const { model = '' } = Object(body) as { model?: string };
          if (route === '/v1/chat/completions')
            return (model !== 'other' && refusal) || { json: { choices: [] } };
          return page;
        });
      });
      beforeEach(() => {
        ids = ['small'];
        refusal = null;
        other.asked.length = 0;
      });
      afterAll(() => other.close());
      const set = (...answers: (string | boolean)[]) =>
        onMachine(['Do it', '--no-repo', '--spec', 'process', '--json'], ['model', '', ...answers]);

      it('adds /v1 where the models are there, and refuses a page with its type', async () => {
        const asked = await set(`${other.url}/page`, `${other.url}/`, '', 'small');
        expect(asked.questions[3]).toMatch(
          /no OpenAI-compatible interface \(it answered 200, text\/html\)$/,
        );
        expect(await settings()).toMatchObject({
          llm_model: 'small',
          llm_base_url: `${other.url}/v1`,
        });
      });

      it.each([
        ['lists none', 0, 'Model (the endpoint lists none)'],
        ['lists too many', 21, 'Model'],
      ])('accepts the name of a model of an endpoint that %s', async (_, count, question) => {
        ids = Array.from({ length: count }, (_each, index) => `m${index}`);
        const asked = await set(other.url, '', 'alias');
        expect(asked.questions[4]).toBe(question);
        expect(await settings()).toMatchObject({ llm_model: 'alias' });
      });

      it('asks for another model where one is refused', async () => {
        ids = ['small', 'other'];
        refusal = { status: 400, json: { error: { message: 'small does not support tools' } } };
        const asked = await set(other.url, '', 'small', 'model', 'other');
        expect(asked.err).toContain('small does not support tools');
        expect(await settings()).toMatchObject({ llm_model: 'other' });
      });

      it('stores a model whose name begins with openai/ so that it is called by its whole name', async () => {
        ids = ['openai/gpt-oss-20b'];
        await set(other.url, '', 'openai/gpt-oss-20b');
        expect(await settings()).toMatchObject({ llm_model: 'openai/openai/gpt-oss-20b' });
        // A run of the test before may still call its model.
        const called = other.writes().map(({ body }) => (body as { model?: string }).model);
        expect(called).toContain('openai/gpt-oss-20b');
      });
    });

    it('is offered for a message as well, and the message is started then', async () => {
      const args = ['Do it', '--spec', 'process', '--json'];
      const asked = await onMachine(args, ['model', url, 'small']);
      expect(asked.code, asked.err).toBe(0);
      expect(asked.err.match(/the current checkout; --no-repo/g)).toHaveLength(1);
      expect(json(asked)).toMatchObject({ model: 'small' });
      const without = await bare.invoke({
        args: ['conv', 'new', 'Do it', '--no-repo', '--model', 'small', '--json'],
      });
      expect(without.code, without.err).toBe(0);
    });
  });

  it('signs in to another server without a stored profile, and offers the profile afterwards', async () => {
    const machine = {
      ...bare,
      env: { ...bare.env, ACS_API_KEY: undefined, ACS_BASE_URL: undefined },
    };
    const { url, key } = world.service;
    const ofBare = [
      '--base-url',
      bare.service.url,
      '--api-key-file',
      path.join(bare.dataDir, 'key'),
    ];
    const other = ['--spec', 'process', '--dry-run', '-y', ...ofBare];
    const refused = await onTerminal(repository, other, ['profile'], machine);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('acs login') as string });
    const body = path.join(world.dir, 'unsupported.json');
    await writeFile(body, '{"brand_new": true}');
    const signedIn = await onTerminal(
      repository,
      ['--spec', 'process', '--body', body, ...ofBare],
      ['profile', 'url', url, 'work', key, 'Do it'],
      machine,
    );
    expect(signedIn.questions.slice(2, 5)).toEqual([
      'URL of the server',
      'Name of the profile',
      'Key (empty: none)',
    ]);
    expect(signedIn).toMatchObject({
      code: 12,
      out: '',
      err: expect.stringContaining('the profile is "work"') as string,
    });
    const asked = await onTerminal(repository, other, ['profile', 'work', 'Do it'], machine);
    expect(asked.questions[1]).toBe('Server [work | another server]');
    expect(asked, asked.err).toMatchObject({
      code: 0,
      out: expect.stringContaining(url) as string,
    });
  });
});

describe.each(['v1', 'v0'] as const)(
  'the wizard of conv new at a server with git providers, over %s',
  (dialect) => {
    const at = useGitServer(dialect);
    beforeEach(() => {
      at.data.repositories = ['acme/app', 'acme/site'].map((name) => repositoryRecord(name));
    });
    const ask = (...answers: (string | boolean)[]): Promise<Ended> =>
      at.invoke({ args: ['conv', 'new', '--dry-run', '--json'], answers });
    const startOf = ({ out }: Ended): Record<string, unknown> => {
      const { requests } = JSON.parse(out) as { requests: { body: Record<string, unknown> }[] };
      return requests.at(-1)?.body ?? {};
    };
    const member = dialect === 'v1' ? 'selected_repository' : 'repository';

    it('offers the repositories that the server lists, and their default branch', async () => {
      const listed = await ask('e', '1', '', 'Do it');
      expect(listed.code, listed.err).toBe(0);
      expect(listed.questions.slice(1, 3)).toEqual([
        'Repository [none | acme/app | acme/site | another repository]',
        'Branch',
      ]);
      expect(startOf(listed)).toMatchObject({
        [member]: 'acme/site',
        selected_branch: 'main',
        git_provider: 'github',
      });
      const none = await ask('Do it');
      expect(startOf(none)[member] ?? null).toBeNull();
    });

    it('does not offer a checkout without a remote that the server could clone', async () => {
      const cwd = await makeRepository(path.join(at.dir, 'without-remote'));
      const args = ['conv', 'new', '--dry-run', '--json'];
      const asked = await at.invoke({ args, cwd, answers: ['e', 'none', 'Do it'] });
      expect(asked.questions[1]).toBe(
        'Repository [none | acme/app | acme/site | another repository]',
      );
    });

    it('takes a typed repository where the providers cannot be read, with a notice', async () => {
      at.script(({ path: route }) =>
        /repositories/.test(route) ? { status: 401, json: 'Invalid github token' } : null,
      );
      at.data.branches['acme/typed'] = [branchRecord('main')];
      const typed = await ask('e', 'other', 'acme/tpyed', 'acme/typed', '', 'Do it');
      expect(typed.questions[3]).toContain('github lists no branch of acme/tpyed');
      expect(typed.questions[1]).toBe('Repository [none | another repository]');
      expect(typed.err).toContain('the server lists no repositories: ');
      expect(startOf(typed)).toMatchObject({ [member]: 'acme/typed' });
    });
  },
);
