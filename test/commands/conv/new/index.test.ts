import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/base/errors.ts';
import { TestClock, until } from '../../../support/test-clock.ts';
import { errorOf, useWorld } from '../../../support/use-world.ts';
import type { Ended, Invocation } from '../../../support/world.ts';
import { finish, json, makeRepository, run } from '../support.ts';

const at = useWorld({ spec: 'process', noun: 'conv new' });
const sent = () =>
  at.server
    .writes()
    .map(({ method, path: route, body }) => ({ route: `${method} ${route}`, body }));
const conv = (...args: string[]) => at.invoke({ args: ['conv', ...args] });
const show = async (id: string) => json<Record<string, unknown>>(await conv('show', id, '--json'));

/** A running sandbox that the runs share. */
let box: string;
let repository: string;
beforeAll(async () => {
  box = json(await at.world.acs('sandbox', 'start', '--json')).id;
  repository = await makeRepository(path.join(at.dir, 'repository'));
  await at.file('long.json', [run('sleep 600'), finish('done')]);
});

describe('conv new', () => {
  it('starts a replay that was recorded without a user message', async () => {
    await at.file('silent.json', [
      { action: 'finish', args: { final_thought: 'Done without a word.' } },
    ]);
    for (const flags of [`--api v1 --sandbox ${box}`, '--api v0'])
      await at.ends(`--no-repo --replay silent.json --wait --json ${flags}`, {
        out: { changed: true, outcome: { status: 'finished', exit_code: 0 } },
      });
  });

  it('prints the id on stderr, writes it to --id-file and stores it as @last', async () => {
    const line = `--no-repo --replay demo --sandbox ${box} --id-file run.id --json`;
    const { id } = await at.json<{ id: string }>(line);
    expect(await readFile(path.join(at.dir, 'run.id'), 'utf8')).toBe(`${id}\n`);
    expect((await conv('show', '@last', '-q')).out).toBe(`${id}\n`);
  });

  it('is stored as @last by its start task when the start failed', async () => {
    const failed = await at.ends(
      '--repo http://127.0.0.1:9/no/repository.git --replay demo --json',
      { code: 1 },
    );
    expect(await show('@last')).toMatchObject({
      status: 'failed',
      start_task_id: json(failed).start_task_id,
    });
  });

  it('does not start the same id twice', async () => {
    const start = `--no-repo --replay demo --sandbox ${box} --id ${'ab'.repeat(16)}`;
    await at.ends(`${start} --wait --json`, { out: { changed: true } });
    at.server.asked.length = 0;
    const err = /exists since 20\S+Z, \\".+\\"; nothing was sent/;
    await at.ends(`${start} --json`, { out: { id: 'ab'.repeat(16), changed: false }, err });
    await at.ends(`${start} --dry-run --json`, {
      out: { dry_run: true, requests: [] },
      writes: [],
    });
  });

  it('--wait and --follow wait for the run of an earlier start with the same id', async () => {
    const id = 'ac'.repeat(16);
    await at.file('short.json', [run('sleep 1'), finish('done')]);
    const start = `--no-repo --replay short.json --sandbox ${box} --id ${id}`;
    await at.ends(`${start} --json`, {});
    const out = { id, changed: false, outcome: { status: 'finished', exit_code: 0 } };
    await at.ends(`${start} --wait --json --id-file earlier`, { out });
    expect(await readFile(path.join(at.dir, 'earlier'), 'utf8')).toBe(`${id}\n`);
    const followed = await at.ends(`${start} --follow --format ndjson`, {});
    const types = followed.out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect([types[0], types[1], types.at(-1)]).toEqual(['started', 'event', 'outcome']);
    await at.ends(`${start} -q --wait`, { out: `${id}\n` });
  });

  it('--wait sends at most 5 requests besides the reads of its start task and its record', async () => {
    await at.ends(['Try it', '--replay', 'demo', '--no-repo', '--sandbox', box, '--wait'], {});
    // The number of those depends on how long the run takes; a sandbox is asked at its own port.
    const repeated = /\/(start-tasks|app-conversations)\?ids=/;
    expect(
      at.server.asked.map(({ url }) => url).filter((url) => !repeated.test(url)).length,
    ).toBeLessThanOrEqual(5);
  });
});

describe('every flag', () => {
  it('is sent over V1', async () => {
    await at.file('instructions.md', 'Be brief.');
    await at.ends(
      [
        ...[
          'look at this',
          '--repo',
          repository,
          '--branch',
          'main',
          '--model',
          'openai/some-model',
          '--sandbox',
          box,
        ],
        ...[
          '--image',
          'https://acs.example/cat.png',
          '--instructions',
          'instructions.md',
          '--secret',
          'TOKEN',
        ],
        ...['--id', 'cd'.repeat(16), '--replay', 'demo', '--json'],
      ],
      { env: { TOKEN: 'value-that-must-not-show' }, hides: 'value-that-must-not-show' },
    );
    expect(sent()[0]?.body).toEqual({
      conversation_id: 'cdcdcdcd-cdcd-cdcd-cdcd-cdcdcdcdcdcd',
      sandbox_id: box,
      initial_message: {
        role: 'user',
        run: true,
        content: [
          { type: 'text', text: 'look at this' },
          { type: 'image', image_urls: ['https://acs.example/cat.png'] },
        ],
      },
      selected_repository: repository,
      selected_branch: 'main',
      llm_model: 'openai/some-model',
      system_message_suffix: 'Be brief.',
      secrets: { TOKEN: 'value-that-must-not-show' },
      replay_json: 'demo',
    });
  });

  it('is sent over V0', async () => {
    const mcp_config = {
      stdio_servers: [{ name: 'files', command: 'mcp-files', env: { KEY: 'hidden-value' } }],
    };
    await at.file('mcp.json', mcp_config);
    await at.file('instructions.md', 'Be brief.');
    await at.file('dot.png', Buffer.from('89504e470d0a1a0a', 'hex'));
    await at.ends(
      [
        ...[
          'look at this',
          '--api',
          'v0',
          '--repo',
          repository,
          '-b',
          'main',
          '--image',
          'dot.png',
        ],
        ...[
          '--instructions',
          'instructions.md',
          '--mcp-config',
          'mcp.json',
          '--replay',
          'demo',
          '--json',
        ],
      ],
      { out: { dialect: 'v0' }, hides: 'hidden-value' },
    );
    expect(sent()[0]).toMatchObject({
      route: 'POST /api/conversations',
      body: {
        initial_user_msg: 'look at this',
        repository,
        selected_branch: 'main',
        image_urls: ['data:image/png;base64,iVBORw0KGgo='],
        conversation_instructions: 'Be brief.',
        replay_json: 'demo',
        mcp_config,
      },
    });
  });
});

describe('the message', () => {
  const start = `--no-repo --replay demo --sandbox`;
  const messageOf = () => {
    const { initial_message } = sent()[0]?.body as {
      initial_message: { content: { text: string }[] };
    };
    return initial_message.content[0]?.text;
  };

  it('is read from a file or from stdin', async () => {
    await at.file('task.md', 'from a file\n');
    await at.ends(`--file task.md ${start} ${box}`, {});
    expect(messageOf()).toBe('from a file\n');
    at.server.asked.length = 0;
    await at.ends(`- ${start} ${box}`, { stdin: 'from stdin' });
    expect(messageOf()).toBe('from stdin');
  });

  it('of 5 MiB is sent whole, and one that is too long is refused with its size', async () => {
    await at.file('huge.md', 'é'.repeat(2.5 * 1024 * 1024));
    await at.ends(`--file huge.md ${start} ${box}`, {});
    expect(messageOf()?.length).toBe(2.5 * 1024 * 1024);
    await at.file('too-much.md', Buffer.alloc(17 * 1024 * 1024, 'a'));
    await at.ends('--file too-much.md --no-repo', { code: 2, err: '17.0 MiB' });
  });
});

describe('conv new --count', () => {
  it('starts the task so many times, and prints outcome, cost, time and diff size of each', async () => {
    const { items } = await at.json<{ items: Record<string, unknown>[] }>(
      '--replay demo --no-repo --count 3',
    );
    expect(sent().filter(({ route }) => route === 'POST /api/v1/app-conversations')).toHaveLength(
      3,
    );
    const own = items.map(({ run: number, status, exit_code, files }) => [
      number,
      status,
      exit_code,
      files,
    ]);
    expect(own).toEqual([1, 2, 3].map((number) => [number, 'finished', 0, 1]));
    expect(new Set(items.map(({ id }) => id)).size).toBe(3);
    expect(items.map(({ answer }) => answer)).toEqual(Array(3).fill(items[0]?.answer));
    const members = 'run id status exit_code reason cost_usd seconds files added removed answer';
    expect(Object.keys(items[0] ?? {}).join(' ')).toBe(members);
  });

  it('ends on a terminal with the answers and the commands that take and compare the runs', async () => {
    await at.file('small.json', [run('echo x > x'), finish('Added **x**.\n\nNo more.')]);
    const line = '--replay small.json --no-repo --count 2 --no-color';
    const { out, err } = await at.ends(line, { columns: 80 });
    const ids = [...out.matchAll(/^\d +(\w{8}) +finished +1 +1 +0 .*Added \*\*x\*\*\.$/gm)];
    const [one, two] = ids.map(([, id]) => id);
    expect(err).toContain(
      `take run 1: acs conv pull ${one} -o <folder>\ntake run 2: acs conv pull ${two} -o ` +
        `<folder>\ncompare two: acs conv diff ${one} ${two}\n`,
    );
  });

  it('exits with the worst code of the runs', async () => {
    const words = '--replay demo --repo http://127.0.0.1:1/owner/name.git --count 2';
    await at.ends(words, { code: 1, out: /failed.*\n.*failed/ });
  });

  it('prints notices that are about all runs once, and with --dry-run the request of the first start', async () => {
    const { err } = await at.ends('--replay demo --count 2 --dry-run --json', { writes: [] });
    expect(err.match(/no git checkout here/g)).toHaveLength(1);
    await at.ends('--replay demo --no-repo --count 2 --dry-run --json', {
      out: { requests: [{ method: 'POST' }] },
    });
  });
});

describe('a mistake in flags and files', () => {
  beforeAll(async () => {
    await at.file('broken.json', '{"a":');
    await at.file('odd-mcp.json', { stdio_servers: [{ name: 'a b' }] });
  });

  it.each<[number, string | string[]]>([
    [2, ['', '--no-repo']],
    [2, ['  \n', '--no-repo']],
    [2, '--no-repo'],
    [2, 'one --file task.md'],
    [2, '--replay broken.json'],
    [2, 'hi --mcp-config broken.json'],
    [2, 'hi --mcp-config odd-mcp.json'],
    [2, 'hi --image broken.json'],
    [2, 'hi --secret NOT_SET_HERE'],
    [2, 'hi --secret NAME=value'],
    [2, `hi --id ${'1'.repeat(32)}`],
    [2, ['hi', '-b', '']],
    [2, 'hi --no-repo -b main'],
    [2, 'hi --api v2'],
    [2, 'hi --wait-timeout 30'],
    [2, '- --file -'],
    [2, 'hi --no-wait --follow'],
    [2, 'hi --count 2 --no-wait'],
    [2, 'hi --count 2 --follow'],
    [2, `hi --count 2 --id ${'0a'.repeat(16)}`],
    [2, 'hi --no-wait --wait-timeout 5m'],
    [3, '--no-repo --replay demo --id-file nowhere/run.id'],
    [3, '--no-repo --replay demo --id-file .'],
    [5, 'hi --repo ./nowhere'],
    [5, 'hi --sandbox doesnotexist'],
  ])('exits %i and starts nothing: %j', async (code, line) => {
    const ended = await at.ends(
      [...(typeof line === 'string' ? line.split(' ') : line), '--json'],
      { code, out: '' },
    );
    expect(errorOf(ended).message).not.toBe('');
    expect(sent().filter(({ route }) => route === 'POST /api/v1/app-conversations')).toEqual([]);
  });
});

it('names the lists of V0 for MCP servers by name, which no start over V0 has', async () => {
  await at.file('by-name.json', { mcpServers: { docs: { url: 'http://127.0.0.1:9' } } });
  const err = /mcpServers of --mcp-config.*V0 servers have sse_servers/s;
  const flags = '--no-repo --mcp-config by-name.json --api v0';
  await at.ends(`hi ${flags}`, { code: 12, err, writes: [] });
});

it.each([
  [{ mcpServers: { docs: { command: 'docs' } } }, { docs: { command: 'docs' } }],
  [{ stdio_servers: [{ name: 'docs', command: 'docs' }] }, { docs: { command: 'docs' } }],
  [{ shttp_servers: [{ url: 'http://[::1]' }] }, { server1: { url: 'http://[::1]' } }],
])('the servers of --mcp-config %j are in the start over V1 by name', async (file, mcp_config) => {
  await at.file('servers.json', file);
  const flags = '--no-repo --replay demo --spec process --mcp-config servers.json';
  const body = { mcp_config, sandbox_spec_id: 'process' };
  await at.ends(`${flags} --dry-run --json`, { out: { requests: [{ body }] } });
});

describe('the end of a wait for a long run', () => {
  /** Waits for a long run, and calls `then` when the command has printed that it is running. */
  async function waited(
    then: (clock: TestClock) => void,
    flags: string,
    more: Partial<Invocation> = {},
  ) {
    const clock = new TestClock({ movedBy: 'real-time', limitMs: 5_000, startMs: Date.now() });
    let printed = '';
    const keep = (text: string) => (printed += text);
    const args = [
      'conv',
      'new',
      '--no-repo',
      '--replay',
      'long.json',
      '--sandbox',
      box,
      ...flags.split(' '),
    ];
    const waiting = at.invoke({ args, onOut: keep, onErr: keep, clock, ...more });
    await until(() => /conversation \w+: running|· running/.test(printed));
    then(clock);
    return await waiting;
  }
  const pastDeadline = (flags: string) =>
    waited((clock) => clock.moveTo(clock.now() + 30 * 60_000), `--wait-timeout 30m ${flags}`);
  async function interrupted(flags = ''): Promise<Ended> {
    const interruption = new AbortController();
    const sigterm = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
    const { signal } = interruption;
    return waited(() => interruption.abort(sigterm), `--wait --json ${flags}`.trim(), { signal });
  }

  it('at the deadline is exit 124, and the run continues', async () => {
    const ended = await pastDeadline('--wait --json');
    const printed = json(ended);
    expect(ended.code).toBe(124);
    expect(printed).toMatchObject({
      status: 'running',
      outcome: { exit_code: 124, reason: { code: 'timeout' } },
    });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    expect((await conv('stop', printed.id)).code).toBe(0);
  });

  it('by an interrupt prints that the run continues, and the command that stops it', async () => {
    const ended = await interrupted();
    const { id, outcome } = json(ended);
    expect(ended.code).toBe(143);
    expect(outcome).toMatchObject({ exit_code: 143, reason: { code: 'interrupted' } });
    expect(errorOf(ended)).toMatchObject({ code: 'interrupted' });
    expect(errorOf(ended).hint).toContain(`acs conv stop ${id}`);
    expect((await show(id))['status']).toBe('running');
    expect(json(await conv('stop', id, '--json'))).toMatchObject({
      status: 'paused',
      changed: true,
    });
  });

  it('prints the deadline once while it follows', async () => {
    const { code, out, err } = await pastDeadline('--follow --stop-on-exit');
    expect(code).toBe(124);
    expect((out + err).match(/was stopped|continues|still running/g)).toEqual(['was stopped']);
  });

  it.each([
    [
      'timeout',
      124,
      'the time limit of 30m has passed',
      () => pastDeadline('--wait --stop-on-exit --json'),
    ],
    ['interrupted', 143, 'interrupted by SIGTERM', () => interrupted('--stop-on-exit')],
  ])(
    'with --stop-on-exit prints one status of the run that it stopped: %s',
    async (code, exitCode, why, end) => {
      const ended = await end();
      expect(ended.code, ended.err).toBe(exitCode);
      const printed = json<Record<string, unknown>>(ended);
      const completed = await at.json(`--no-repo --replay demo --sandbox ${box} --wait`);
      const members = (of: unknown) => Object.keys(of as object).filter((name) => name !== 'error');
      expect(members(printed)).toEqual(members(completed));
      expect(members(printed['outcome'])).toEqual(members(completed['outcome']));
      const id = String(printed['id']);
      const message = `${why}; conversation ${id} was stopped`;
      const hint = `see its status: acs conv show ${id}`;
      expect(errorOf(ended)).toMatchObject({ code, message, hint, last_status: 'paused' });
      const state = { status: 'paused', waiting_for: null, reason: { code, text: message } };
      expect(printed).toMatchObject({
        ...state,
        execution_status: 'paused',
        error: { code, message },
      });
      expect(printed['outcome']).toMatchObject({
        ...state,
        exit_code: exitCode,
        conversation_id: id,
      });
      const shown = await show(id);
      for (const field of ['status', 'execution_status', 'sandbox_status', 'cost_usd'])
        expect(printed[field], field).toEqual(shown[field]);
    },
  );
});
