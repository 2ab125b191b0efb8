import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  branchRecord,
  repositoryRecord,
  useGitServer,
} from '../../../client/support/git-server.ts';
import { startFake, type FakeServer, type Reply } from '../../../support/server.ts';
import { createWorld, invoke, type Ended, type World } from '../../../support/world.ts';
import { git, json, makeRepository, type ConversationJson } from '../support.ts';

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

const conversations = async (): Promise<ConversationJson[]> =>
  json<{ items: ConversationJson[] }>(await world.acs('conv', 'list', '--json')).items;

describe('conv new without a message, on a terminal', () => {
  it('asks for repository, branch, message and spec, and then for a confirmation', async () => {
    const asked = await onTerminal(
      repository,
      ['--dry-run'],
      ['here', '', 'Repair the tests', 'process', true],
    );
    expect(asked.questions[0]).toBe(`Repository [${repository} | none | another repository]`);
    expect(asked.questions.slice(1, 3)).toEqual([
      'Branch',
      'What should the agent do? (empty opens your editor)',
    ]);
    expect(asked.questions[3]).toContain('Sandbox spec');
    expect(asked.questions[4]).toBe('Start the conversation?');
    expect(asked.err).toMatch(/repository +\S+\n/);
    expect(asked.code, asked.err).toBe(0);
  });

  it('starts nothing when the confirmation is refused', async () => {
    const before = (await conversations()).length;
    const asked = await onTerminal(repository, [], ['none', 'Do it', 'process', false]);
    expect(asked.code).toBe(2);
    expect(asked.err).toContain('nothing was started');
    await rm(path.dirname(/saved in (\S+);/.exec(asked.err)?.[1] ?? ''), { recursive: true });
    expect(await conversations()).toHaveLength(before);
  });

  it('does not ask for what a flag gives', async () => {
    const asked = await onTerminal(
      repository,
      ['--no-repo', '--spec', 'process', '--dry-run', '-y'],
      ['Do it'],
    );
    expect(asked.questions).toEqual(['What should the agent do? (empty opens your editor)']);
    expect(asked.code, asked.err).toBe(0);
  });

  it('opens the editor for an empty message', async () => {
    const asked = await onTerminal(
      repository,
      ['--no-repo', '--spec', 'process', '--dry-run', '-y'],
      ['', 'One\nTwo\n\n# What should the agent do? This line is removed.\n'],
    );
    expect(asked.questions[1]).toContain('editor');
    expect(asked.out).toContain('"text": "One\\nTwo"');
  });

  it('asks for the branch when HEAD is detached', async () => {
    const folder = path.join(world.dir, 'empty');
    await mkdir(folder);
    const asked = await onTerminal(
      folder,
      ['--spec', 'process', '--dry-run', '-y'],
      ['other', repository, 'main', 'Do it'],
    );
    expect(asked.questions[0]).toBe('Repository [none | another repository]');
    expect(asked.questions[1]).toContain('owner/name');
    expect(asked.out).toContain('"selected_branch": "main"');
  });

  it('--no-input prevents every prompt', async () => {
    const asked = await onTerminal(repository, ['--no-input'], []);
    expect(asked).toMatchObject({ code: 2, questions: [] });
  });

  it('checks a branch when it is entered', async () => {
    const asked = await onTerminal(
      repository,
      ['--spec', 'process', '--dry-run', '-y'],
      ['here', 'no-such-branch', 'main', 'Do it'],
    );
    expect(asked.questions[2]).toBe(`Branch ${repository} has no branch "no-such-branch"`);
    expect(asked.code, asked.err).toBe(0);
  });

  it('checks a repository when it is entered', async () => {
    const head = path.join(world.dir, 'detached');
    await git(world.dir, 'clone', '-q', repository, head);
    await git(head, 'switch', '-q', '--detach');
    const asked = await onTerminal(
      repository,
      ['--spec', 'process', '--dry-run', '-y'],
      ['other', 'nonsense', './nowhere', `file://${world.dir}/nowhere.git`, head, 'main', 'Do it'],
    );
    const question = 'Repository (owner/name, a URL or a path)';
    expect(asked.questions.slice(1, 6)).toEqual([
      question,
      `${question} not a repository`,
      `${question} no git checkout at ./nowhere`,
      `${question} git cannot read file://${world.dir}/nowhere.git`,
      "Branch (empty: the repository's default)",
    ]);
    expect(asked.code, asked.err).toBe(0);
  });

  it('stores a typed message in a file that the error names when the start fails or is refused', async () => {
    for (const [last, code] of [
      [true, 12],
      [false, 2],
    ] as const) {
      const mcp = path.join(world.dir, 'mcp.json');
      // for one conversation: V0 has that, and this service speaks V1 alone
      await writeFile(mcp, '{}');
      const args = ['--spec', 'process', '--mcp-config', mcp];
      const asked = await onTerminal(repository, args, ['none', 'Do it all', last]);
      expect(asked.code, asked.err).toBe(code);
      const file = /new\s+--file\s+(\S+)/.exec(asked.err)?.[1] ?? '';
      expect(await readFile(file, 'utf8'), asked.err).toBe('Do it all\n');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await rm(path.dirname(file), { recursive: true });
    }
  });
});

describe('conv new without a message and without a model, on a terminal', () => {
  let bare: World;
  beforeAll(async () => {
    bare = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => bare.close());

  it('offers the demo before the first question and starts it', async () => {
    const asked = await onTerminal(repository, ['-y', '--wait'], ['demo', 'none', 'process'], bare);
    expect(asked.questions[0]).toContain('[run the demo | replay a file | use another server]');
    expect(asked.code, asked.err).toBe(0);
    expect(asked.err).toMatch(
      /: acs conv result (\S+)\n.*: acs conv diff \1\n.*: acs conv chat \1\n$/,
    );
  });

  it('takes a replay file and repeats the question for an unusable one', async () => {
    const file = path.join(bare.dir, 'run.json');
    await writeFile(file, '[{"action":"finish","args":{"final_thought":"done"}}]');
    const asked = await onTerminal(
      repository,
      ['-y', '--wait'],
      ['replay', 'nowhere.json', file, 'none', 'process'],
      bare,
    );
    expect(asked.questions[2]).toContain('cannot read nowhere.json');
    expect(asked.code, asked.err).toBe(0);
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
          if (!isList) keys.push(authorization);
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
      const asked = await onMachine([], ['model', url, 'large', 'none', 'Do it', 'process', false]);
      expect(asked.questions[0]).toContain('[set up a model | run the demo |');
      expect(asked.questions.slice(1, 4)).toEqual([
        expect.stringMatching(/^Where is the model\? \[.* \| another URL\]$/),
        'Model [small | large]',
        expect.stringContaining('Repository'),
      ]);
      expect(asked.err).toContain(`the model large at ${url} answers and is stored`);
      await rm(path.dirname(/saved in (\S+);/.exec(asked.err)?.[1] ?? ''), { recursive: true });
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
        'What do you want to change? [key | model | URL | nothing]',
        expect.stringContaining('Where is the model?'),
        question,
        'Key (empty: none)',
        'Model [small | large]',
        'What do you want to change? [key | model | URL | nothing]',
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
        expect(other.writes()[0]?.body).toMatchObject({ model: 'openai/gpt-oss-20b' });
      });
    });

    it('is offered for a message as well, and the message is started then', async () => {
      const args = ['Do it', '--no-repo', '--spec', 'process', '--json'];
      const asked = await onMachine(args, ['model', url, 'small']);
      expect(asked.code, asked.err).toBe(0);
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
    const signedIn = await onTerminal(
      repository,
      ['--spec', 'process', ...ofBare],
      ['profile', 'url', url, 'work', key, 'none', 'Do it', false],
      machine,
    );
    expect(signedIn.questions.slice(2, 5)).toEqual([
      'URL of the server',
      'Name of the profile',
      'Key (empty: none)',
    ]);
    expect(signedIn).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('the profile is "work"') as string,
    });
    await rm(path.dirname(/saved in (\S+);/.exec(signedIn.err)?.[1] ?? ''), { recursive: true });
    const asked = await onTerminal(
      repository,
      other,
      ['profile', 'work', 'none', 'Do it'],
      machine,
    );
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
      const listed = await ask('1', '', 'Do it', true);
      expect(listed.code, listed.err).toBe(0);
      expect(listed.questions.slice(0, 2)).toEqual([
        'Repository [none | acme/app | acme/site | another repository]',
        'Branch',
      ]);
      expect(startOf(listed)).toMatchObject({
        [member]: 'acme/site',
        selected_branch: 'main',
        git_provider: 'github',
      });
      const none = await ask('none', 'Do it', true);
      expect(startOf(none)[member] ?? null).toBeNull();
    });

    it('does not offer a checkout without a remote that the server could clone', async () => {
      const cwd = await makeRepository(path.join(at.dir, 'without-remote'));
      const args = ['conv', 'new', '--dry-run', '--json'];
      const asked = await at.invoke({ args, cwd, answers: ['none', 'Do it', true] });
      expect(asked.questions[0]).toBe(
        'Repository [none | acme/app | acme/site | another repository]',
      );
    });

    it('takes a typed repository where the providers cannot be read, with a notice', async () => {
      at.script(({ path: route }) =>
        /repositories/.test(route) ? { status: 401, json: 'Invalid github token' } : null,
      );
      at.data.branches['acme/typed'] = [branchRecord('main')];
      const typed = await ask('other', 'acme/tpyed', 'acme/typed', '', 'Do it', true);
      expect(typed.questions[2]).toContain('github lists no branch of acme/tpyed');
      expect(typed.questions[0]).toBe('Repository [none | another repository]');
      expect(typed.err).toContain('the server lists no repositories: ');
      expect(startOf(typed)).toMatchObject({ [member]: 'acme/typed' });
    });
  },
);
