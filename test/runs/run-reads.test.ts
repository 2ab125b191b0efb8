import { describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS, type Conversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import { AppError, type ErrorKind } from '../../src/errors.ts';
import { NO_EVIDENCE, type RunEvidence } from '../../src/runs/evidence.ts';
import * as reads from '../../src/runs/run-reads.ts';
import type { Server } from '../../src/servers/server.ts';

const over = new AppError('timeout', 'the deadline has passed');

/** A server whose reads of one conversation all end like this. */
function serverThat(answer: () => Promise<unknown>): reads.BoundServer {
  const server = { conversations: { getComplete: answer, runsInSandbox: answer, get: answer } } as unknown as Server;
  return { server, signal: new AbortController().signal, isOver: (error) => error === over };
}
const answers = (value: unknown) => serverThat(() => Promise.resolve(value));
const fails = (error: unknown) => serverThat(() => Promise.reject(error));
const failure = (kind: ErrorKind) => new AppError(kind, kind);

const record = (members: Partial<Conversation>): Conversation => ({ ...blankConversation('c', 'running'), ...members });

describe('the record of a run', () => {
  it('is read', async () => {
    expect(await reads.readUnlessPassing(answers('the record'), 'c')).toBe('the record');
  });

  it.each(['network', 'server', 'rate-limited'] as const)('is null after an error that passes: %s', async (kind) => {
    expect(await reads.readUnlessPassing(fails(failure(kind)), 'c')).toBeNull();
  });

  it('is null when the deadline aborts the read', async () => {
    expect(await reads.readUnlessPassing(fails(over), 'c')).toBeNull();
  });

  it.each(['not-found', 'auth', 'timeout', 'interrupted'] as const)('is not read after %s', async (kind) => {
    await expect(reads.readUnlessPassing(fails(failure(kind)), 'c')).rejects.toMatchObject({ kind });
  });

  it('that has no status for a moment does not replace the one before it', () => {
    const [before, blank, next] = [record({}), record({ status: NO_STATUS }), record({ status: 'finished' })];
    expect(reads.withKnownStatus(blank, before)).toBe(before);
    expect(reads.withKnownStatus(blank, null)).toBe(blank);
    expect(reads.withKnownStatus(next, before)).toBe(next);
  });

  it('is of the latest run unless the status may be older than the newest message', () => {
    const finished = record({ status: 'finished' });
    expect(reads.ofLatestRun(finished, NO_EVIDENCE)).toBe(finished);
    expect(reads.ofLatestRun(finished, { ...NO_EVIDENCE, since_message: 'none' })).toBeNull();
    expect(reads.ofLatestRun(null, NO_EVIDENCE)).toBeNull();
  });
});

describe('the state of a run in its sandbox', () => {
  it.each([true, false])('is what the sandbox answers: %s', async (answer) => {
    expect(await reads.runsInSandbox(answers(answer), 'c')).toBe(answer);
  });

  it.each([over, failure('server'), failure('not-found')])(
    'is that it does not run after an error: %s',
    async (error) => {
      expect(await reads.runsInSandbox(fails(error), 'c')).toBe(false);
    },
  );

  it.each([failure('interrupted'), new TypeError('a fault in acs')])('is not known after: %s', async (error) => {
    await expect(reads.runsInSandbox(fails(error), 'c')).rejects.toBe(error);
  });
});

describe('a conversation', () => {
  it('is gone when its record is not found, and not after another error', async () => {
    expect(await reads.isGone(fails(failure('not-found')).server, 'c')).toBe(true);
    expect(await reads.isGone(fails(failure('network')).server, 'c')).toBe(false);
    expect(await reads.isGone(answers('the record').server, 'c')).toBe(false);
  });
});

describe('a status that is stable', () => {
  const started: RunEvidence = { ...NO_EVIDENCE, since_message: 'none' };
  const startedAfter = null;

  it('of a running sandbox does not count for a run that the command has started and that has no event', () => {
    expect(reads.standing({ startedAfter }, started, record({ sandbox_status: 'running' }))).toBe(started);
  });

  it.each([
    ['of a run that another client has started', {}, started, 'running'],
    ['of a run that has events', { startedAfter }, { ...started, since_message: 'some' }, 'running'],
    ['of a sandbox that does not run', { startedAfter }, started, 'paused'],
  ] as const)('%s counts', (_, options, evidence, sandbox_status) => {
    expect(reads.standing(options, evidence, record({ sandbox_status })).since_message).toBe('unknown');
  });
});

const event = (id: string, signal: RunSignal | null, timestamp: string | null = null): ConversationEvent => ({
  type: 'event',
  id,
  conversation_id: 'c',
  timestamp,
  source: null,
  kind: 'any',
  text: '',
  payload: {},
  signal,
});

describe('the run that is known from the events', () => {
  let queries: unknown[] = [];
  let given = 0;

  /** Pages of 100, as long as the reader takes them. */
  function serverWith(newestFirst: ConversationEvent[]): Server {
    queries = [];
    given = 0;
    async function* eventPages(id: string, query: { limit: number }): AsyncGenerator<ConversationEvent[]> {
      queries.push([id, query]);
      for (let from = 0; from < Math.min(newestFirst.length, query.limit); from += 100) {
        given += 1;
        yield newestFirst.slice(from, from + 100);
        await Promise.resolve();
      }
    }
    return { conversations: { eventPages } } as unknown as Server;
  }
  const activities = (count: number) => Array.from({ length: count }, (_, index) => event(`a${index}`, 'activity'));

  it('is empty in a conversation without events', async () => {
    expect(await reads.readKnownRun(serverWith([]), 'c')).toEqual({ evidence: NO_EVIDENCE, last: null });
    expect(queries).toEqual([['c', { order: 'newest-first', limit: 300 }]]);
  });

  it('is that of the events since the latest message, in their order', async () => {
    const newest = event('e3', 'status:running');
    const older = [event('e2', 'activity'), event('e1', 'message'), event('e0', 'rejection'), ...activities(200)];
    expect(await reads.readKnownRun(serverWith([newest, ...older]), 'c')).toEqual({
      evidence: { ...NO_EVIDENCE, last_event_id: 'e3', since_message: 'some', in_progress: true },
      last: newest,
    });
    expect(given).toBe(1);
  });

  it.each([
    ['has none', 299, 'unknown'],
    ['is older than 300 events', 300, 'some'],
    ['is older than 400 events', 400, 'some'],
  ] as const)('has a message when that %s: %i events', async (_, count, since) => {
    const { evidence } = await reads.readKnownRun(serverWith(activities(count)), 'c');
    expect([evidence.since_message, evidence.last_event_id]).toEqual([since, 'a0']);
  });
});

describe('a run of more than 300 events', () => {
  it('has a message although no event says anything about the run', async () => {
    const page = Array.from({ length: 300 }, (_, index) => event(`a${index}`, null));
    const eventPages = async function* (): AsyncGenerator<ConversationEvent[]> {
      yield await Promise.resolve(page);
    };
    const server = { conversations: { eventPages } } as unknown as Server;
    expect((await reads.readKnownRun(server, 'c')).evidence).toEqual({
      ...NO_EVIDENCE,
      since_message: 'some',
      last_event_id: 'a0',
    });
  });
});

describe('an event', () => {
  const end = event('end', null, '2026-01-01T00:00:01Z');

  it.each([
    ['the same event', event('end', null, null), end, true],
    ['an older one', event('other', null, '2026-01-01T00:00:00.9Z'), end, true],
    ['one of the same time', event('other', null, end.timestamp), end, false],
    ['a newer one', event('other', null, '2026-01-01T00:00:02Z'), end, false],
    ['a newer one of the same second', event('other', null, '2026-01-01T00:00:01.5Z'), end, false],
    ['an older one of the same second', end, event('other', null, '2026-01-01T00:00:01.5Z'), true],
    ['one without a time', event('other', null, null), end, false],
    ['one where the end has no time', event('other', null, end.timestamp), event('end', null, null), false],
    ['one where there is no end', end, null, false],
  ])('is up to another: %s', (_, one, other, is) => {
    expect(reads.isUpTo(one, other)).toBe(is);
  });
});
