/** A start at a backend, whose commands a real shell executes in folders of the test. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { git, makeRepository } from '../../commands/conv/support.ts';
import { NOT_FOUND, type Asked, type Reply, type Routes } from '../../support/server.ts';
import { idleClock, until } from '../../support/test-clock.ts';
import { errorOf, useWorld } from '../../support/use-world.ts';
import { backend, backendHandler } from '../support/backend-server.ts';
import { finish, status, userMessage } from '../support/v1-server.ts';

const START = 'POST /api/conversations';
// Commands of the server take real time.
const at = useWorld({ script: () => NOT_FOUND, noun: 'conv new', clock: () => idleClock(5) });

interface StartBody {
  conversation_id: string;
  workspace: { working_dir: string };
  tags: Record<string, string>;
  [member: string]: unknown;
}

let checkout: string;
/** HOME and TMPDIR of the server. */
let machine: string;
let records: Map<string, Record<string, unknown>>;
let outputs: Map<string, Record<string, unknown>>;
let settings: Record<string, unknown>;
let routes: Routes;
/** Called before a command is executed. */
let beforeCommand: () => unknown;
let serverPath: string | undefined;
let count = 0;

async function execute(command: string): Promise<Record<string, unknown>> {
  await beforeCommand();
  const child = spawn('sh', ['-c', command], {
    cwd: machine,
    env: { PATH: serverPath, HOME: machine, TMPDIR: machine },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  return { order: 0, exit_code: await ended, stdout, stderr };
}

function started({ body }: Asked): Reply {
  const { conversation_id: id, workspace, tags } = body as StartBody;
  const record = {
    ...(backend.body('conv.get') as Record<string, unknown>),
    ...{ id, workspace, tags, execution_status: 'finished' },
  };
  records.set(id, record);
  return { status: 201, json: { ...record, execution_status: 'idle' } };
}

beforeEach(async () => {
  count += 1;
  checkout = await makeRepository(path.join(at.dir, `it's a "checkout"\n${count}`));
  machine = path.join(at.dir, `machine-${count}`);
  await mkdir(machine);
  records = new Map();
  outputs = new Map();
  routes = {};
  beforeCommand = () => undefined;
  serverPath = process.env['PATH'];
  settings = structuredClone(backend.body('settings.get') as Record<string, unknown>);
  const { llm } = settings['agent_settings'] as { llm: Record<string, unknown> };
  Object.assign(llm, { model: 'openai/scripted', api_key: 'gAAAAAciphertext' });
  const events = [userMessage('hi'), status('running'), finish('done'), status('finished')];
  at.server.handler = (asked) => {
    const { path: route } = asked;
    const [, id = '', rest = ''] = /^\/api\/conversations\/([\w-]{36})(.*)$/.exec(route) ?? [];
    const record = records.get(id);
    return backendHandler({
      '/api/settings': () => ({ json: settings }),
      '/api/settings/secrets': { json: { secrets: [] } },
      '/api/settings/agent-schema': backend.reply('settings.agent-schema'),
      '/api/bash/execute_bash_command': async ({ body }) => ({
        json: await execute((body as { command: string }).command),
      }),
      '/api/bash/start_bash_command': ({ body }) => {
        const command = String(outputs.size);
        outputs.set(command, { order: 0, exit_code: null });
        void execute((body as { command: string }).command).then((ended) =>
          outputs.set(command, ended),
        );
        return { json: { id: command } };
      },
      '/api/bash/bash_events/search': ({ query }) => {
        const output = outputs.get(query.get('command_id__eq') ?? '');
        const items = output?.['exit_code'] === null ? [] : [output];
        return { json: { items, next_page_id: null } };
      },
      [START]: started,
      ...(/^\/api\/conversations\/\w+\/events\/search$/.test(route) && {
        [route]: { json: { items: events, next_page_id: null } },
      }),
      ...(id !== '' &&
        rest === '' && {
          [route]: record === undefined ? NOT_FOUND : { json: record },
        }),
      ...routes,
    })(asked);
  };
});

const starts = (): StartBody[] =>
  at.server.asked
    .filter(({ method, path: route }) => `${method} ${route}` === START)
    .map(({ body }) => body as StartBody);
const folderOf = (kind: 'worktree' | 'clone'): string =>
  path.join(machine, '.openhands', kind === 'clone' ? 'workspaces' : 'worktrees');
const left = (kind: 'worktree' | 'clone'): string[] =>
  existsSync(folderOf(kind)) ? readdirSync(folderOf(kind)) : [];
const branches = async (): Promise<string[]> =>
  (await git(checkout, 'for-each-ref', '--format=%(refname:short)', 'refs/heads'))
    .trim()
    .split('\n');
const proofs = (): string[] =>
  readdirSync(path.join(checkout, '.git')).filter((name) => name.startsWith('acs-'));
/** As of a server that sees another folder. */
const hideProofs = () => Promise.all(proofs().map((name) => rm(path.join(checkout, '.git', name))));

/** Starts it in the checkout; the body of the start. */
async function start(flags = '', ending: Parameters<typeof at.ends>[1] = {}): Promise<StartBody> {
  await at.ends(`hi ${flags}`, { cwd: checkout, ...ending });
  const [body] = starts();
  return body ?? expect.fail('nothing was started');
}

describe('a checkout that the server sees', () => {
  it('is worked on in a worktree of its commit, and stays as it is', async () => {
    await writeFile(path.join(checkout, 'README.md'), 'changed\n');
    const head = (await git(checkout, 'rev-parse', 'HEAD')).trim();
    const {
      workspace,
      tags,
      conversation_id: id,
    } = await start('', {
      err: ['uncommitted changes', 'works in a worktree of the checkout'],
    });
    expect(workspace.working_dir).toBe(
      path.join(folderOf('worktree'), id, path.basename(checkout)),
    );
    expect(readFileSync(path.join(workspace.working_dir, 'README.md'), 'utf8')).toBe('hello\n');
    expect(tags).toMatchObject({ acsbase: head, acsrepository: checkout });
    expect(await branches()).toContain(`openhands/${id}`);
    expect(await git(checkout, 'status', '--porcelain')).toMatch(/^ ?M README.md$/);
    expect(proofs()).toEqual([]);
  });

  it('takes 7 requests with --wait', async () => {
    await start('--no-repo');
    at.server.asked.length = 0;
    const { out } = await at.ends('hi --wait --json', { cwd: checkout });
    expect(JSON.parse(out)).toMatchObject({ status: 'finished' });
    expect(at.server.lines().length, at.server.lines().join('\n')).toBeLessThanOrEqual(7);
  });

  it('names the secrets that the server has stored, and those of --secret', async () => {
    routes = { 'GET /api/settings/secrets': backend.reply('secrets.list2') };
    const { secrets } = await start('--secret TOKEN_B', { env: { TOKEN_B: 'value-of-token-b' } });
    expect(secrets).toMatchObject({
      TOKEN_A: {
        kind: 'LookupSecret',
        url: '/api/settings/secrets/TOKEN_A',
        headers: { 'X-Session-API-Key': expect.any(String) as string },
      },
      TOKEN_B: { kind: 'StaticSecret', value: 'value-of-token-b' },
    });
  });

  it('may be a worktree itself, or a folder below', async () => {
    const other = path.join(at.dir, `other ${count}`);
    await git(checkout, 'worktree', 'add', '-q', '-b', 'side', other);
    await mkdir(path.join(other, 'deep'));
    const { workspace, tags } = await start('', { cwd: path.join(other, 'deep') });
    expect(path.basename(workspace.working_dir)).toBe(`other ${count}`);
    expect(tags).toMatchObject({ acsbranch: 'side' });
  });

  it('is worked on from the commit of --branch', async () => {
    await git(checkout, 'switch', '-q', '-c', 'next');
    await git(checkout, 'commit', '-q', '--allow-empty', '-m', 'second');
    const next = (await git(checkout, 'rev-parse', 'next')).trim();
    await git(checkout, 'switch', '-q', '-');
    expect((await start('--branch next')).tags).toMatchObject({
      acsbase: next,
      acsbranch: 'next',
    });
  });

  it('without the branch exits 5, and on no branch 2, before anything is sent', async () => {
    await at.ends('hi --branch nope', { cwd: checkout, code: 5, err: '"nope"', writes: [] });
    await git(checkout, 'checkout', '-q', '--detach');
    await at.ends('hi', { cwd: checkout, code: 2, err: '--branch', writes: [] });
  });
});

describe('what the server does not see', () => {
  let bare: string;
  beforeEach(async () => {
    bare = path.join(at.dir, `bare-${count}.git`);
    await git(at.dir, 'clone', '-q', '--bare', checkout, bare);
    await git(checkout, 'remote', 'add', 'origin', `file://${bare}`);
    beforeCommand = hideProofs;
  });

  it('is cloned from its remote, which stderr says', async () => {
    const { workspace, conversation_id: id } = await start('', {
      err: [`the server does not see`, `it clones file://${bare}`],
    });
    expect(path.dirname(workspace.working_dir)).toBe(path.join(folderOf('clone'), id));
    expect(existsSync(path.join(workspace.working_dir, 'README.md'))).toBe(true);
    expect(left('worktree')).toEqual([]);
  });

  it('may be a branch that only the remote has', async () => {
    await git(bare, 'branch', 'only-there');
    await start('--branch only-there', {
      err: `branch only-there is only at the remote: the server clones file://${bare}`,
    });
    expect(left('clone')).toHaveLength(1);
  });

  it('exits 5 for a branch that did not arrive, and leaves nothing behind', async () => {
    await git(checkout, 'switch', '-q', '-c', 'only-here');
    await at.ends('hi', { cwd: checkout, code: 5, err: 'only-here' });
    expect([starts(), left('clone')]).toEqual([[], []]);
  });

  it('exits 2 without a remote', async () => {
    await git(checkout, 'remote', 'remove', 'origin');
    await at.ends('hi', { cwd: checkout, code: 2, err: 'no remote "origin" to clone' });
  });

  it('is cloned without the credentials of a URL', async () => {
    await at.ends('hi --repo https://me:hunter2@127.0.0.1:1/a/b.git', {
      code: 5,
      hides: 'hunter2',
    });
    expect(at.server.asked.map(({ text }) => text).join('')).not.toContain('hunter2');
  });

  it('leaves nothing behind when the clone is interrupted', async () => {
    const bin = path.join(at.dir, `bin-${count}`);
    await mkdir(bin);
    await writeFile(path.join(bin, 'git'), '#!/bin/sh\nmkdir -p "$5"\nexec sleep 100\n', {
      mode: 0o755,
    });
    serverPath = `${bin}:${process.env['PATH']}`;
    const interrupt = new AbortController();
    const ending = at.ends(`hi --repo file:///no/where.git`, {
      code: 130,
      signal: interrupt.signal,
    });
    await until(() => left('clone').length > 0);
    const { AppError } = await import('../../../src/base/errors.ts');
    interrupt.abort(new AppError('interrupted', 'interrupted', { exitCode: 130 }));
    await ending;
    expect([starts(), left('clone')]).toEqual([[], []]);
    await until(() => [...outputs.values()].every((output) => output['exit_code'] !== null));
  });
});

describe('a folder of the server', () => {
  it('is used itself with --workspace, and exits 5 when it does not exist', async () => {
    const folder = path.join(machine, "it's mine");
    await at.ends(['hi', '--workspace', folder], { code: 5, err: 'the server has no folder' });
    await mkdir(folder);
    await at.ends(['hi', '--workspace', folder], { err: `works in the folder ${folder} itself` });
    expect(starts()[0]?.workspace.working_dir).toBe(folder);
  });

  it('is a new one with --no-repo', async () => {
    const { workspace } = await start('--no-repo');
    expect(readdirSync(workspace.working_dir)).toEqual(['.git']);
  });
});

describe('a start', () => {
  const lost: Reply = { cut: true };

  it('whose answer is lost is looked up, and is not repeated when the server has it', async () => {
    routes[START] = (asked) => {
      started(asked);
      return lost;
    };
    await start('--wait', { out: /finished/ });
    expect(starts()).toHaveLength(1);
  });

  it('whose answer is lost is repeated once with its id', async () => {
    routes[START] = (asked) => (starts().length === 1 ? lost : started(asked));
    await start();
    expect(new Set(starts().map(({ conversation_id: id }) => id)).size).toBe(1);
    expect(starts()).toHaveLength(2);
  });

  it('exits 11 when the repetition has no answer, and keeps the worktree', async () => {
    routes[START] = lost;
    const ended = await at.ends('hi --json', { cwd: checkout, code: 11 });
    expect(errorOf(ended).message).toContain('no answer came to the start');
    expect([starts().length, left('worktree').length]).toEqual([2, 1]);
  });

  it.each([422, 500])(
    'that is refused with %d leaves neither worktree nor branch',
    async (code) => {
      const before = await branches();
      routes[START] = { status: code, json: { detail: 'no' } };
      await at.ends('hi', { cwd: checkout, code: code === 422 ? 2 : 9 });
      expect([left('worktree'), await branches()]).toEqual([[], before]);
      expect(await git(checkout, 'worktree', 'list', '--porcelain')).not.toContain('openhands');
    },
  );

  it('that fails after the record is stored counts if the server has its message', async () => {
    routes[START] = (asked) => {
      const [begun, id] = [starts().length > 1, (asked.body as StartBody).conversation_id];
      started(asked);
      if (!begun) Object.assign(records.get(id) ?? {}, { last_user_message_id: null });
      const json = { detail: 'Internal Server Error', exception: 'Connection closed' };
      return { status: 500, json };
    };
    await at.ends('hi --wait', {
      cwd: checkout,
      code: 9,
      err: ['Connection closed; conversation a', 'without the message', 'acs conv delete a'],
    });
    expect([starts().length, left('worktree').length]).toEqual([1, 1]);
    await at.ends('hi --wait', { cwd: checkout, out: /finished/ });
  });

  it('exits 3 without a model, before anything is prepared', async () => {
    settings = backend.body('settings.get') as Record<string, unknown>;
    const err = ['acs settings set llm_model=', 'acs settings profile use'];
    await at.ends('hi', { cwd: checkout, code: 3, err, writes: [] });
  });

  it('exits 12 where settings cannot be encrypted, and reads none for an agent profile', async () => {
    const exception = '503: Encryption not available: OH_SECRET_KEY is not configured.';
    const hidden = { detail: 'Internal Server Error', exception };
    routes['/api/settings'] = { status: 503, json: hidden };
    await at.ends('hi', { cwd: checkout, code: 12, err: 'agent_profile_id', writes: [] });
    const profile = { agent_profile_id: 'd5733e31-4b26-45e4-9479-6140b26939a5' };
    const file = await at.file('body.json', { ...profile, tags: { mine: '1' } });
    at.server.asked.length = 0;
    expect(await start(`--no-repo --body ${file}`, { cwd: at.dir })).toMatchObject(profile);
    expect(at.server.lines()).not.toContain('GET /api/settings');
  });

  it('has the members of the flags', async () => {
    await at.file('rules.md', 'be brief');
    await at.file('mcp.json', { mcpServers: { one: { command: 'true' } } });
    const flags =
      '--no-repo --model openai/other --instructions rules.md --mcp-config mcp.json ' +
      '--confirm risky --secret TOKEN --title mine';
    routes['/api/profiles/openai%2Fother'] = NOT_FOUND;
    routes[START] = (asked) => {
      const { conversation_id: id } = asked.body as StartBody;
      routes[`/api/conversations/${id}`] = () => ({ json: { ...records.get(id), title: 'mine' } });
      return started(asked);
    };
    const body = await start(flags, {
      cwd: at.dir,
      env: { TOKEN: 'a-secret-value-0815' },
      hides: 'a-secret-value-0815',
    });
    expect(body).toMatchObject({
      agent_settings: {
        llm: { model: 'openai/other', api_key: 'gAAAAAciphertext' },
        agent_context: { system_message_suffix: 'be brief' },
        mcp_config: { one: { command: 'true' } },
      },
      autotitle: false,
      confirmation_policy: { kind: 'ConfirmRisky' },
      max_iterations: 500,
      secrets: { TOKEN: { kind: 'StaticSecret', value: 'a-secret-value-0815' } },
      secrets_encrypted: true,
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    });
  });

  it('with --model uses a model profile of this name', async () => {
    routes['/api/profiles/fast'] = { json: { name: 'fast', config: { model: 'openai/fast' } } };
    expect(await start('--no-repo --model fast')).toMatchObject({
      agent_settings: { llm: { model: 'openai/fast' } },
    });
  });

  it.each(['--replay demo', '--spec x', '--sandbox x', '--api v1'])(
    'with %s exits 12 before anything is sent',
    async (flags) => {
      await at.ends(`hi ${flags}`, { cwd: checkout, code: 12, writes: [] });
    },
  );
});
