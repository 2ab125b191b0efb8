import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createV1World, KEY, type V1World } from '../../servers/support/v1-world.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke, type Ended } from '../../support/world.ts';
import { errorOf, json, until } from './support.ts';

let world: V1World;
let dir: string;
let interruption: AbortController;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
  interruption = new AbortController();
  world.before = ({ method, path: route }) =>
    method === 'POST' && route === '/api/v1/app-conversations' ? { silence: true } : null;
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

function start(...flags: string[]): Promise<Ended> {
  return invoke({
    args: ['conv', 'new', 'hello', '--no-repo', '--json', ...flags],
    cwd: dir,
    env: { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY },
    signal: interruption.signal,
    clock: idleClock(),
  });
}

/** The id the start went out with, once it has. */
async function sentId(): Promise<string> {
  const sent = () => world.fake.asked.find(({ method }) => method === 'POST');
  await until(() => sent() !== undefined);
  return String((sent()?.body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
}

function interrupt(): void {
  interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
}

describe('a start without an answer', () => {
  it('an interrupt names the start and the commands that show and stop it', async () => {
    const starting = start();
    const id = await sentId();
    interrupt();
    const ended = await starting;
    expect(ended.code).toBe(130);
    expect(errorOf(ended)).toMatchObject({ code: 'interrupted', conversation_id: id });
    expect(errorOf(ended).message).toContain('may have taken the start');
    expect(errorOf(ended).hint).toBe(`look: acs conv show ${id}   stop it: acs conv stop ${id}`);
    expect(json(ended)).toMatchObject({ id, status: 'unknown(not-read)', outcome: { exit_code: 130 } });
  });

  it('--json prints one document when the answer is lost', async () => {
    world.before = ({ method, path: route }) =>
      method === 'POST' && route === '/api/v1/app-conversations' ? { cut: true } : null;
    const ended = await start();
    const id = await sentId();
    expect(ended.code, ended.err).toBe(11);
    expect(json(ended)).toMatchObject({ id, status: 'unknown(not-read)', error: { code: 'unknown-outcome' } });
  });

  it.each(['--start-timeout', '--wait-timeout'])('exits 124 at the deadline of %s', async (flag) => {
    const ended = await start(flag, '300ms');
    expect(ended.code).toBe(124);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', reason: 'timeout', conversation_id: await sentId() });
    expect(errorOf(ended).message).toContain('may have taken the start');
    expect(world.fake.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('--stop-on-interrupt stops the run as soon as the server lists it', async () => {
    let looks = 0;
    const routes = world.before;
    const starting = start('--stop-on-interrupt');
    const id = await sentId();
    world.before = (asked) => {
      if (asked.path.endsWith('/interrupt')) {
        world.conversations.get(id)!['execution_status'] = 'paused';
        return { json: { success: true } };
      }
      if (asked.method === 'GET' && asked.path === '/api/v1/app-conversations' && ++looks === 3)
        world.addConversation({ id, conversation_url: `${world.fake.url}/agent/api/conversations/${id}` });
      return routes(asked);
    };
    interrupt();
    const ended = await starting;
    expect(ended.code).toBe(130);
    expect(ended.err).toContain(`conversation ${id} was stopped`);
    const state = { status: 'paused', reason: { code: 'interrupted' } };
    expect(json(ended)).toMatchObject({ id, ...state, outcome: { ...state, conversation_id: id, exit_code: 130 } });
    expect(world.fake.lines()).toContain(`POST /agent/api/conversations/${id}/interrupt`);
  });
});
