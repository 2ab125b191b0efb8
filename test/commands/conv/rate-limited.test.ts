import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../../servers/support/fake-server.ts';
import { recordings } from '../../servers/support/recordings.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke, type Ended } from '../../support/world.ts';
import { json } from './support.ts';

const older = recordings('1.6.0');
const ID = 'c3722f6b04ea4a4b8883a7dd7563356d';

let fake: FakeServer;
let dir: string;
let events: Record<string, unknown>[];
let looks: number;
/** The look at which the user, elsewhere, has sent a message. */
let sendsAtLook: number;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-rate-'));
  looks = 0;
  sendsAtLook = Infinity;
  events = [];
  add({ source: 'user', action: 'message', args: { content: 'begin' } });
  becomes('running');
  becomes('rate_limited');
  fake = await startFake(answer);
});

afterEach(async () => {
  await fake.close();
  await rm(dir, { recursive: true, force: true });
});

function add(event: Record<string, unknown>): void {
  events.push({ id: events.length, timestamp: '2026-11-21T10:30:00', ...event });
}

function becomes(agent_state: string): void {
  add({ source: 'environment', observation: 'agent_state_changed', extras: { agent_state, reason: '' } });
}

function answer({ path: asked, query }: Asked): Reply {
  if (asked === '/api/options/config') return older.reply('probe.options-config');
  if (asked === `/api/conversations/${ID}`) {
    looks += 1;
    if (looks === sendsAtLook) {
      add({ source: 'user', action: 'message', args: { content: 'go on' } });
      becomes('running');
      becomes('finished');
    }
    return { json: { conversation_id: ID, title: 'A title', status: 'RUNNING', url: null } };
  }
  if (asked !== `/api/conversations/${ID}/events`) return NOT_FOUND;
  const found = events.filter(({ id }) => Number(id) >= Number(query.get('start_id') ?? 0));
  if (query.get('reverse') === 'true') found.reverse();
  return { json: { events: found.slice(0, 100), has_more: found.length > 100 } };
}

function acs(...args: string[]): Promise<Ended> {
  const env = {
    HOME: dir,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: fake.url,
    ACS_API_KEY: 'key-0123456789',
  };
  return invoke({ args, cwd: dir, env, clock: idleClock(30) });
}

it('conv show reports a rate-limited V0 run as running, with the reason', async () => {
  expect(json(await acs('conv', 'show', ID, '--json'))).toMatchObject({
    status: 'running',
    reason: { code: 'rate-limited', text: expect.stringContaining('the model limits its rate') as string },
  });
});

it('conv wait prints one notice for a rate-limited run, and its outcome at the end', async () => {
  sendsAtLook = 8;
  const { code, err } = await acs('conv', 'wait', ID);
  expect(code).toBe(0);
  expect(err.match(/the model limits its rate/g)).toHaveLength(1);
});
