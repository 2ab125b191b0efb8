import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/base/clock.ts';
import { LocalService } from '../../src/cli/create-context/local-service.ts';
import { AppError } from '../../src/base/errors.ts';
import { NOT_FOUND } from '../support/server.ts';
import { until } from '../support/test-clock.ts';
import { useWorld, type Ending } from '../support/use-world.ts';
import type { Invocation } from '../support/world.ts';

const at = useWorld({
  target: 'none',
  script: () => NOT_FOUND,
  clock: () => clockFrom(() => Date.now()),
});
/** Another one for each test; nothing is there at its start. */
const dataDir = () => `${at.configDir}-data`;
const ends = (line: string, ending: Ending & Partial<Invocation> = {}) =>
  at.ends(line, { env: { ACS_DATA_DIR: dataDir() }, ...ending });
const json = async (line: string) =>
  JSON.parse((await ends(`${line} --json`)).out) as Record<string, unknown>;

const RUN = [
  { id: 1, source: 'agent', action: 'run', args: { command: 'echo replayed > done.txt' } },
  { id: 2, source: 'agent', action: 'finish', args: { final_thought: 'Replayed.' } },
];

afterEach(async () => {
  if (existsSync(dataDir())) await ends('serve --stop');
});

describe('serve --status', () => {
  it('reports no service, creates nothing and starts nothing', async () => {
    expect(await json('serve --status')).toEqual({
      running: false,
      url: null,
      pid: null,
      version: null,
      started_at: null,
      data_dir: dataDir(),
      conversations_running: null,
      sandboxes_running: null,
      unknown_workspaces: null,
      scenario: null,
      replay: null,
    });
    expect(existsSync(dataDir())).toBe(false);
  });
});

describe('serve in the background', () => {
  it('starts once, is used by the profile local, and stops', async () => {
    const started = await json('serve --detach');
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string;
    expect(started).toMatchObject({ url, data_dir: dataDir(), changed: true });
    const same = { url: started['url'], pid: started['pid'] };
    expect(await json('serve --detach')).toMatchObject({ ...same, changed: false });
    expect(await json('serve --status')).toMatchObject({ ...same, running: true });
    expect(await json('whoami -p local')).toMatchObject({
      base_url: started['url'],
      key_source: 'local',
    });
    await ends('serve --logs');
    expect(await json('serve --stop')).toMatchObject({ pid: started['pid'], changed: true });
    expect(await json('serve --stop')).toMatchObject({ changed: false });
    await until(() => !isThere(Number(started['pid'])));
  });

  it('exits 3 when ACS_DATA_DIR is a file', async () => {
    writeFileSync(dataDir(), '');
    await ends('serve --detach', { code: 3, err: dataDir() });
    rmSync(dataDir());
  });
});

describe('serve in the foreground', () => {
  it('prints its address once when it is ready, and exits on the signal', async () => {
    const controller = new AbortController();
    let printed = '';
    const keep = (text: string) => (printed += text);
    const more = {
      signal: controller.signal,
      onOut: keep,
      onErr: keep,
      env: { ACS_DATA_DIR: dataDir() },
    };
    const running = at.invoke({ args: ['serve', '--json'], ...more });
    await until(() => printed.includes('"ready"'));
    const { url } = await json('serve --status');
    await ends('serve --detach');
    controller.abort(new AppError('interrupted', 'interrupted'));
    const { code, out, err } = await running;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ type: 'ready', url, data_dir: dataDir() });
    expect((out + err).split(String(url))).toHaveLength(2);
    expect(await json('serve --status')).toMatchObject({ running: false });
  });
});

describe('serve exits before it starts anything', () => {
  it.each<[number, string, string]>([
    [2, '--status --stop', ''],
    [2, '--port 70000', ''],
    [2, '--port x', ''],
    [2, '--api v2', ''],
    [2, '--spec docker', ''],
    [2, '--idle-timeout 5', ''],
    [2, '--sandbox-memory 8apples', ''],
    [2, '--sandbox-memory 100M', ''],
    [2, '--sandbox-processes 63', ''],
    [2, '--host=', ''],
    [2, '--scenario=', ''],
    [2, '--replay=', ''],
    [2, '--status --scenario faults.json', ''],
    [2, '--stop --scenario faults.json', ''],
    [2, '--status --replay demo', ''],
    [2, '--stop --replay demo', ''],
    [2, '--status --timeout 5s', ''],
    [0, '--detach --dry-run', ''],
    ...['--detach', '', '--dry-run', '--detach --dry-run'].map((form): [number, string, string] => [
      ...([
        3,
        `${form} --scenario wrong.json`,
        'wrong.json: rule 1, stauts: there is no such member\n',
      ] as const),
    ]),
    [3, '--detach --replay missing.json', 'there is no such file'],
    [3, '--replay .', 'it is not a regular file'],
    [3, '--detach --replay empty.json', 'the trajectory contains no agent action'],
  ])('with %i: serve %s', async (code, flags, err) => {
    await at.file('wrong.json', [{ stauts: 503 }]);
    await at.file('empty.json', []);
    await ends(`serve ${flags}`, { code, err: err === '' ? [] : err });
    expect(await json('serve --status')).toMatchObject({ running: false });
  });
});

describe('serve beside a running service', () => {
  const LIMITS = '--sandbox-memory 1G --sandbox-processes 0';
  const FORMS = ['--detach', '--detach --dry-run', '', '--dry-run'];
  /** Of the service, which all tests share. */
  const shared = { env: {} as Record<string, string> };
  let running: { pid: number; url: string };
  beforeAll(async () => {
    shared.env = { ACS_DATA_DIR: path.join(at.dir, 'shared') };
    await at.file('busy.json', [{ path: '/api/v1/app-conversations/search', status: 418 }]);
    await at.file('run.json', RUN);
    const flags = `--idle-timeout 1h --replay run.json ${LIMITS}`;
    const { out } = await at.ends(`serve --detach ${flags} --json`, {
      ...shared,
      out: { changed: true },
    });
    const { pid, url } = JSON.parse(out) as typeof running;
    running = { pid, url };
    // The service keeps what it has read.
    rmSync(path.join(at.dir, 'run.json'));
  });
  afterAll(() => at.ends('serve --stop', shared));

  it.each([
    ['--port 1', 'with --port'],
    ['--host 0.0.0.0', 'with --host 127.0.0.1 instead of 0.0.0.0'],
    ['--api v0', 'with --api both instead of v0'],
    ['--spec process', 'without --spec process'],
    ['--sandbox-memory 2G', 'with --sandbox-memory 1073741824 instead of 2147483648'],
    ['--sandbox-processes 64', 'with --sandbox-processes 0 instead of 64'],
    ['--idle-timeout 30m', 'with --idle-timeout 1h instead of 30m'],
    ['--replay demo', 'run.json instead of demo'],
    ['--scenario busy.json', 'without --scenario'],
  ])('exits 6 for %s and names what it runs with', async (flags, named) => {
    for (const form of FORMS)
      await at.ends(`serve ${form} ${flags}`, {
        ...shared,
        code: 6,
        out: '',
        err: [named, 'acs serve --stop'],
      });
  });

  it.each([
    ['no flags', ''],
    ['its flags', `--host localhost --idle-timeout 60m --api both ${LIMITS}`],
    ['its port', '--port PORT'],
    ['--port 0, which means any', '--port 0'],
  ])('exits 0 with %s, prints where it runs and changes nothing', async (_, given) => {
    const flags = given.replace('PORT', new URL(running.url).port);
    await at.ends(`serve --detach ${flags} --json`, {
      ...shared,
      out: { changed: false, ...running },
    });
    const out = { type: 'ready', ...running };
    await at.ends(`serve ${flags} --json`, { ...shared, out, err: 'it was already running' });
    for (const form of ['--dry-run', '--detach --dry-run'])
      await at.ends(`serve ${form} ${flags}`, {
        ...shared,
        out: `the local service is already running (pid ${running.pid})\n`,
      });
  });

  /** A request of another client: JSON in, JSON out. */
  async function request<T>(url: string, key: string, body?: unknown): Promise<T> {
    const answer = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'X-Session-API-Key': key, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as T;
  }

  it('plays its replay in conversations over V1, V0 and an agent server that name no replay', async () => {
    await at.ends('serve --status --json', {
      ...shared,
      out: { replay: path.join(at.dir, 'run.json') },
    });
    for (const dialect of ['v1', 'v0']) {
      const start = [
        'conv',
        'new',
        'Go on.',
        '-p',
        'local',
        '--no-repo',
        '--api',
        dialect,
        '--wait',
        '-q',
      ];
      const { out } = await at.ends(start, shared);
      await at.ends(`conv result ${out.trim()} -p local`, { ...shared, out: 'Replayed.' });
    }
    const key = (await readFile(path.join(at.dir, 'shared', 'key'), 'utf8')).trim();
    const { items } = await request<{
      items: { session_api_key: string; exposed_urls: { name: string; url: string }[] }[];
    }>(`${running.url}/api/v1/sandboxes/search`, key);
    const agent = items[0]?.exposed_urls.find(({ name }) => name === 'AGENT_SERVER')?.url ?? '';
    const sandboxKey = items[0]?.session_api_key ?? '';
    const { id } = await request<{ id: string }>(`${agent}/api/conversations`, sandboxKey, {
      workspace: { working_dir: at.dir },
      agent: { kind: 'Agent', llm: { model: 'openai/gpt-4o', api_key: 'none' } },
      initial_message: { role: 'user', content: [{ type: 'text', text: 'Go on.' }], run: true },
    });
    const own = `${agent}/api/conversations/${id}`;
    await until(async () => {
      const { execution_status } = await request<{ execution_status: string }>(own, sandboxKey);
      return execution_status === 'finished';
    });
    expect(await request(`${own}/agent_final_response`, sandboxKey)).toEqual({
      response: 'Replayed.',
    });
  });
});

describe('serve --scenario', () => {
  it('applies in the background, is shown by --status, and is named on stderr', async () => {
    const file = path.join(
      at.dir,
      await at.file('busy.json', [{ path: '/api/v1/app-conversations/search', status: 418 }]),
    );
    await ends('serve --detach --scenario busy.json', {
      err: `fault injection: 1 rule of ${file};`,
    });
    expect(await json('serve --status')).toMatchObject({ running: true, scenario: file });
    const again = [
      `, with --scenario ${file}, whose rules may have been used up`,
      'acs serve --stop',
    ];
    await ends('serve --detach --scenario busy.json', { code: 6, err: again });
    await ends('conv list -p local', { code: 9, err: '418' });
    await ends('serve --logs', { out: /matched rule 1: status 418/ });
  });
});

describe('on Windows', () => {
  it('the local service exits 12, with a hint about the alternatives', async () => {
    const service = new LocalService({
      root: at.dir,
      version: '0',
      env: { ACS_DATA_DIR: dataDir() },
      platform: 'win32',
      home: at.dir,
      log: () => undefined,
    });
    const refused = {
      kind: 'unsupported',
      exitCode: 12,
      details: { hint: expect.stringContaining('WSL') as string },
    };
    await expect(service.run({})).rejects.toMatchObject(refused);
    await expect(service.ensure({})).rejects.toMatchObject(refused);
    expect(existsSync(dataDir())).toBe(false);
  });
});

/** One that has ended is there until its parent, this process, has taken notice. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
