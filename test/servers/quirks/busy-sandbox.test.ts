import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { until } from '../../support/until.ts';
import { invoke } from '../../support/world.ts';
import { connectTo, quickClock } from '../support/connect.ts';
import { createV1World, event, ID, KEY, status, type V1World } from '../support/v1-world.ts';

let world: V1World;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

it('conv stop reports the stop when the run has stopped, not when the busy sandbox returns no status', async () => {
  const record = world.addConversation();
  let looks = 0;
  world.before = ({ method, path: route }) => {
    if (method === 'POST' && route.endsWith('/interrupt')) {
      record['execution_status'] = null;
      return { json: { success: true } };
    }
    if (record['execution_status'] === null && route === '/api/v1/app-conversations') looks += 1;
    if (looks === 12) record['execution_status'] = 'paused';
    return null;
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY };
  const args = ['conv', 'stop', ID, '--json'];
  const { code, out, err } = await invoke({ args, cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ status: 'paused', changed: true });
  expect(looks).toBe(12);
});

it('conv stop reports an unknown status, not a running run, when the sandbox never returns one', async () => {
  const record = world.addConversation();
  world.before = ({ method, path: route }) => {
    if (method !== 'POST' || !route.endsWith('/interrupt')) return null;
    record['execution_status'] = null;
    return { json: { success: true } };
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY };
  const { code, err } = await invoke({ args: ['conv', 'stop', ID], cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(124);
  expect(err).toContain('its sandbox reports no status');
});

describe('following', () => {
  let server: Server;

  let clock: ReturnType<typeof quickClock>;

  let stop: AbortController;

  let lines: string[];

  let following: Promise<void>;

  beforeEach(async () => {
    stop = new AbortController();
    clock = quickClock();
    server = await connectTo(world.fake.url, { signal: stop.signal, clock });
    world.addConversation();
    lines = [];
  });

  afterEach(async () => {
    stop.abort(new Error('test is over'));
    await following.catch(() => undefined);
    await server.close();
  });

  function follow(): void {
    following = (async () => {
      for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
        if (item.type === 'event') lines.push(item.event.text);
        if (item.type === 'state') lines.push(`=${item.conversation.status}`);
      }
    })();
    following.catch((error: unknown) => lines.push(String(error)));
  }

  it('delivers a status that stays missing, and the status after it', async () => {
    world.conversations.get(ID)!['execution_status'] = null;
    follow();
    await until(() => lines.includes('=unknown(no-status)'));
    world.conversations.get(ID)!['execution_status'] = 'finished';
    world.agentEvents.push(event('ActionEvent', { tool_name: 'x' }), status('finished'));
    await until(() => lines.includes('=finished'));
  });

  const broken = { sandbox_status: 'ERROR', execution_status: null, conversation_url: null, session_api_key: null };

  it('does not end the run when a busy sandbox is reported as in error for a while', async () => {
    follow();
    await until(() => lines.includes('=running'));
    const before = { ...world.conversations.get(ID)! };
    const looks = (): number => world.fake.asked.filter(({ path }) => path === '/api/v1/app-conversations').length;
    Object.assign(world.conversations.get(ID)!, broken);
    for (const socket of world.fake.sockets) socket.close(1011);
    const from = looks();
    await until(() => looks() >= from + 3);
    Object.assign(world.conversations.get(ID)!, before, { execution_status: 'finished' });
    world.agentEvents.push(status('finished'));
    await until(() => lines.includes('=finished'));
    expect(lines).not.toContain('=failed');
  });

  it('reports a run as failed when its sandbox stays in error', async () => {
    follow();
    await until(() => lines.includes('=running'));
    Object.assign(world.conversations.get(ID)!, broken);
    for (const socket of world.fake.sockets) socket.close(1011);
    await until(() => lines.includes('=failed'));
  });
});
