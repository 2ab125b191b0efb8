/** `acs serve --replay`: what clients get that cannot name a replay. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../service/app/support.ts';
import { invoke } from '../support/world.ts';

const run = [
  { id: 1, source: 'agent', action: 'run', args: { command: 'echo replayed > done.txt' } },
  { id: 2, source: 'agent', action: 'finish', args: { final_thought: 'Replayed.' } },
];

let base: string;
let dataDir: string;
let file: string;
beforeEach(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'acs-serve-replay-'));
  dataDir = path.join(base, 'data');
  file = path.join(base, 'run.json');
  writeFileSync(file, JSON.stringify(run));
});
afterEach(async () => {
  await acs('serve', '--stop');
  rmSync(base, { recursive: true, force: true });
});

const acs = (...args: string[]) =>
  invoke({
    args,
    cwd: base,
    env: { PATH: process.env.PATH, HOME: base, ACS_CONFIG_DIR: path.join(base, 'config'), ACS_DATA_DIR: dataDir },
  });

/** A request of another client: JSON in, JSON out. */
async function request(url: string, key: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-Session-API-Key': key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer.json();
}

it('serve --replay plays the file in conversations over V1, V0 and an agent server that name no replay', async () => {
  const started = await acs('serve', '--detach', '--replay', 'run.json', '--json');
  expect(started, started.err).toMatchObject({ code: 0 });
  expect(JSON.parse((await acs('serve', '--status', '--json')).out)).toMatchObject({ replay: file });
  // The service keeps what it has read.
  rmSync(file);
  const status = JSON.parse((await acs('serve', '--status', '--json')).out) as { url: string };
  const key = readFileSync(path.join(dataDir, 'key'), 'utf8').trim();

  const v1 = await acs('conv', 'new', 'Go on.', '-p', 'local', '--no-repo', '--api', 'v1', '--wait', '-q');
  expect(v1, v1.err).toMatchObject({ code: 0 });
  expect((await acs('conv', 'result', v1.out.trim(), '-p', 'local')).out).toBe('Replayed.');
  const v0 = await acs('conv', 'new', 'Go on.', '-p', 'local', '--no-repo', '--api', 'v0', '--wait', '-q');
  expect(v0, v0.err).toMatchObject({ code: 0 });

  const { items } = (await request(`${status.url}/api/v1/sandboxes/search`, key)) as {
    items: { session_api_key: string; exposed_urls: { name: string; url: string }[] }[];
  };
  const [sandbox] = items;
  const agent = sandbox?.exposed_urls.find(({ name }) => name === 'AGENT_SERVER')?.url ?? '';
  const sandboxKey = sandbox?.session_api_key ?? '';
  const { id } = (await request(`${agent}/api/conversations`, sandboxKey, {
    workspace: { working_dir: base },
    agent: { kind: 'Agent', llm: { model: 'openai/gpt-4o', api_key: 'none' } },
    initial_message: { role: 'user', content: [{ type: 'text', text: 'Go on.' }], run: true },
  })) as { id: string };
  await until(
    () => request(`${agent}/api/conversations/${id}`, sandboxKey),
    (record) => (record as { execution_status: string }).execution_status === 'finished',
  );
  expect(await request(`${agent}/api/conversations/${id}/agent_final_response`, sandboxKey)).toEqual({
    response: 'Replayed.',
  });
});

it('serve --replay exits 6 beside a service without it, and 0 beside a service with it', async () => {
  await acs('serve', '--detach', '--replay', 'demo');
  for (const form of [['--detach'], []]) {
    expect((await acs('serve', ...form, '--replay', 'demo')).code).toBe(0);
  }
  const other = await acs('serve', '--detach', '--replay', 'run.json');
  expect(other).toMatchObject({ code: 6, err: expect.stringContaining('acs serve --stop') as string });
  expect(other.err).toContain(`with --replay demo instead of ${file}`);
  await acs('serve', '--stop');
  await acs('serve', '--detach');
  for (const form of [['--detach'], ['--detach', '--dry-run'], []]) {
    const { code, err } = await acs('serve', ...form, '--replay', 'demo');
    expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining('without --replay demo') as string });
  }
  // Without a model a conversation that names no replay is still refused there.
  expect((await acs('conv', 'new', 'Go on.', '-p', 'local', '--no-repo')).code).toBe(3);
});

it.each([
  ['missing.json', 'there is no such file'],
  ['.', 'it is not a regular file'],
  ['empty.json', 'the trajectory holds no action of an agent'],
])('serve --replay %s exits 3 and starts nothing', async (named, why) => {
  writeFileSync(path.join(base, 'empty.json'), '[]');
  for (const form of [['--detach'], []]) {
    const { code, err } = await acs('serve', ...form, '--replay', named);
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(why) as string });
  }
  expect(JSON.parse((await acs('serve', '--status', '--json')).out)).toMatchObject({ running: false, replay: null });
});

it.each([
  ['--replay', ''],
  ['--status', '--replay', 'demo'],
  ['--stop', '--replay', 'demo'],
])('serve %s %s exits 2', async (...flags) => {
  expect((await acs('serve', ...flags)).code).toBe(2);
});
