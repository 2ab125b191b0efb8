/** What a follow and a start read of a V0 run: each event once. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Server } from '../../../src/client/shared/server.ts';
import { happens, V0_ID as ID, stateChanges, userSays, useV0 } from '../../support/use-scripted.ts';
import { connectTo, newConversation } from '../support/client.ts';

const LONG = 260;
const at = useV0();
const signal = new AbortController().signal;

let server: Server;
/** What each request for events was answered. */
let served: { query: URLSearchParams; ids: number[] }[];
/** What happens between two reads of the conversation, in order. */
let script: (() => void)[];

beforeEach(async () => {
  served = [];
  script = [];
  at.v0.record = { conversation_id: ID, title: 'A title', status: 'RUNNING', url: null };
  at.v0.before = ({ method, path, query }) => {
    if (method === 'GET' && path === `/api/conversations/${ID}`) script.shift()?.();
    if (method === 'GET' && path.endsWith('/events')) {
      const [start, end] = [
        Number(query.get('start_id') ?? 0),
        Number(query.get('end_id') ?? Infinity),
      ];
      const found = ids().filter((id) => id >= start && id <= end);
      if (query.get('reverse') === 'true') found.reverse();
      served.push({ query, ids: found.slice(0, Number(query.get('limit'))) });
    }
    return null;
  };
  server = await connectTo(at.server.url);
});
afterEach(() => server.close());

const ids = (): number[] => at.v0.events.map(({ id }) => Number(id));
const becomes = (state: string): void => stateChanges(at.v0, state);
const works = (members: object = {}): void =>
  happens(at.v0, { source: 'agent', action: 'run', args: { command: 'make' }, ...members });
const hasStatus = (status: string): void => void (at.v0.record = { ...at.v0.record, status });
const quiet = (): void => undefined;

async function started() {
  const request = newConversation({ message: 'hi', api: 'v0' });
  const start = server.conversations.start(request, { until: 'started', signal });
  let ended = await start.next();
  while (ended.done !== true) ended = await start.next();
  return ended.value;
}

it('a follow of a long V0 run reads its past once and then only new events, through a stop and a start', async () => {
  userSays(at.v0, 'begin');
  becomes('running');
  while (at.v0.events.length < LONG) works();
  const sleeps = (): void => {
    becomes('stopped');
    hasStatus('STOPPED');
  };
  const wakes = (): void => {
    hasStatus('RUNNING');
    becomes('loading');
    userSays(at.v0, 'go on');
    becomes('running');
  };
  script = [
    quiet,
    works,
    quiet,
    works,
    works,
    sleeps,
    quiet,
    wakes,
    works,
    () => becomes('finished'),
  ];
  const read: number[] = [];
  const states: string[] = [];
  for await (const item of server.conversations.follow(ID, { signal })) {
    if (item.type === 'event') read.push(Number(item.event.id));
    if (item.type === 'state') states.push(item.conversation.status);
    if (states.at(-1) === 'finished') break;
  }
  expect(read).toEqual(ids());
  expect(states).toEqual(['running', 'stopped', 'running', 'finished']);
  const later = served.filter(({ query }) => Number(query.get('start_id')) >= LONG);
  expect(later.flatMap((each) => each.ids)).toEqual(ids().slice(LONG));
  // One request for each poll: events that a poll has read are not requested again for delivery.
  const looks = at.server.lines().filter((line) => line === `GET /api/conversations/${ID}`).length;
  expect(later.length).toBeLessThan(looks);
  const past = served.filter(
    (each) => !later.includes(each) && each.query.get('reverse') === 'false',
  );
  expect(past.flatMap((each) => each.ids)).toHaveLength(LONG);
});

it('a follow of a V0 run since a time requests only the events of the latest run', async () => {
  const time = (second: number): string =>
    new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
  for (let second = 0; second < LONG; second++) works({ timestamp: time(second) });
  works({ source: 'user', action: 'message', args: { content: 'go on' }, timestamp: time(LONG) });
  works({ timestamp: time(LONG + 1) });
  const shown: string[] = [];
  for await (const item of server.conversations.follow(ID, { since: time(LONG + 1), signal })) {
    if (item.type === 'event') shown.push(item.event.id);
    if (item.type === 'state') break;
  }
  expect(shown).toEqual([String(LONG + 1)]);
  expect(served.length).toBeLessThan(4);
});

it('a wait for the start of a V0 run does not read its events again', async () => {
  becomes('loading');
  for (let count = 0; count < 60; count++)
    happens(at.v0, { source: 'environment', observation: 'null', content: '' });
  script = [...Array.from({ length: 8 }, () => quiet), () => becomes('running')];
  expect((await started()).status).toBe('running');
  const all = served.flatMap((each) => each.ids);
  expect(all.toSorted((one, other) => one - other)).toEqual(ids());
});

it('a start counts as begun when the server was restarted before the run was seen', async () => {
  hasStatus('STOPPED');
  // It ran between two looks; a server that starts anew starts no conversation again.
  const ran = (): void => {
    becomes('loading');
    userSays(at.v0, 'hi');
    becomes('running');
  };
  script = [quiet, quiet, ran];
  expect(await started()).toMatchObject({ id: ID, status: 'stopped' });
  expect(script).toEqual([]);
});
