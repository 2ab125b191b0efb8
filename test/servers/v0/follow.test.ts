import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../support/fake-server.ts';
import { newConversation } from '../support/new-conversation.ts';
import { recordings } from '../support/recordings.ts';

const older = recordings('1.6.0');

const ID = 'c3722f6b04ea4a4b8883a7dd7563356d';

const LONG = 260;

let fake: FakeServer;

let server: Server;

let events: Record<string, unknown>[];

let status: string;

/** What each request for events was answered. */
let served: { query: URLSearchParams; ids: number[] }[];

/** What happens between two reads of the conversation, in order. */
let script: (() => void)[];

beforeEach(async () => {
  events = [];
  served = [];
  script = [];
  status = 'RUNNING';
  fake = await startFake(answer);
  server = await connectTo(fake.url);
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

function answer({ method, path, query }: Asked): Reply {
  if (path === '/api/options/config') return older.reply('probe.options-config');
  if (method === 'POST') return { json: { status: 'ok', conversation_id: ID } };
  if (path === `/api/conversations/${ID}`) {
    script.shift()?.();
    return { json: { conversation_id: ID, title: 'A title', status, url: null } };
  }
  if (path !== `/api/conversations/${ID}/events`) return NOT_FOUND;
  const [start, end] = [Number(query.get('start_id') ?? 0), Number(query.get('end_id') ?? Infinity)];
  const found = events.filter(({ id }) => Number(id) >= start && Number(id) <= end);
  if (query.get('reverse') === 'true') found.reverse();
  const page = found.slice(0, Number(query.get('limit') ?? 20));
  served.push({ query, ids: page.map(({ id }) => Number(id)) });
  return { json: { events: page, has_more: found.length > page.length } };
}

const add = (event: Record<string, unknown>): void => void events.push({ id: events.length, ...event });

const says = (source: string, content: string): void => add({ source, action: 'message', args: { content } });

const works = (): void => add({ source: 'agent', action: 'run', args: { command: 'make' } });

const becomes = (agent_state: string): void =>
  add({ source: 'environment', observation: 'agent_state_changed', extras: { agent_state, reason: '' } });

it('a follow of a long V0 run reads its past once and then only new events, through a stop and a start', async () => {
  says('user', 'begin');
  becomes('running');
  while (events.length < LONG) works();
  const sleeps = (): void => {
    becomes('stopped');
    status = 'STOPPED';
  };
  const wakes = (): void => {
    status = 'RUNNING';
    becomes('loading');
    says('user', 'go on');
    becomes('running');
  };
  const quiet = (): void => undefined;
  script = [quiet, works, quiet, works, works, sleeps, quiet, wakes, works, () => becomes('finished')];
  const stop = new AbortController();
  const read: number[] = [];
  const states: string[] = [];
  let pastIsRead = 0;
  for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
    if (item.type === 'event') read.push(Number(item.event.id));
    if (read.length === LONG && pastIsRead === 0) pastIsRead = served.length;
    if (item.type === 'state') states.push(item.conversation.status);
    if (states.at(-1) === 'finished') break;
  }
  expect(read).toEqual(events.map(({ id }) => id));
  expect(states).toEqual(['running', 'stopped', 'running', 'finished']);
  const later = served.slice(pastIsRead);
  expect(later.flatMap(({ ids }) => ids)).toEqual(events.slice(LONG).map(({ id }) => id));
  expect(later.every(({ query }) => query.get('reverse') === 'false' && Number(query.get('start_id')) >= LONG)).toBe(
    true,
  );
  // One request for each poll: events that a poll has read are not requested again for delivery.
  const looks = fake.lines().filter((line) => line === `GET /api/conversations/${ID}`).length;
  expect(later.length).toBeLessThan(looks);
});

it('a wait for the start of a V0 run does not read its events again', async () => {
  becomes('loading');
  for (let count = 0; count < 60; count++) add({ source: 'environment', observation: 'null', content: '' });
  script = [...Array.from({ length: 8 }, () => () => undefined), () => becomes('running')];
  const start = server.conversations.start(newConversation({ message: 'hi', api: 'v0' }), {
    until: 'started',
    signal: new AbortController().signal,
  });
  let ended = await start.next();
  while (ended.done !== true) ended = await start.next();
  expect(ended.value.status).toBe('running');
  const all = served.flatMap(({ ids }) => ids);
  expect(all.toSorted((one, other) => one - other)).toEqual(events.map(({ id }) => id));
});

it('a start counts as begun when the server was restarted before the run was seen', async () => {
  status = 'STOPPED';
  script = [
    () => undefined,
    () => undefined,
    () => {
      // It ran between two looks; a server that starts anew starts no conversation again.
      becomes('loading');
      says('user', 'hi');
      becomes('running');
    },
  ];
  const start = server.conversations.start(newConversation({ message: 'hi', api: 'v0' }), {
    until: 'started',
    signal: new AbortController().signal,
  });
  let ended = await start.next();
  while (ended.done !== true) ended = await start.next();
  expect(script).toEqual([]);
  expect(ended.value).toMatchObject({ id: ID, status: 'stopped' });
});
