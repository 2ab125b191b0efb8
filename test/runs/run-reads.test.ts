import { beforeEach, describe, expect, it } from 'vitest';

import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import { AppError, type ErrorKind } from '../../src/errors.ts';
import { NO_EVIDENCE } from '../../src/runs/outcome.ts';
import * as reads from '../../src/runs/run-reads.ts';
import type { Server } from '../../src/servers/server.ts';
import { TestClock } from '../support/test-clock.ts';

const over = new AppError('timeout', 'the deadline has passed');

/** A server whose reads of one conversation all end like this. */
function serverThat(answer: () => Promise<unknown>): reads.BoundServer {
  const server = { conversations: { getComplete: answer, runsInSandbox: answer, get: answer } } as unknown as Server;
  return { server, signal: new AbortController().signal, isOver: (error) => error === over };
}
const answers = (value: unknown) => serverThat(() => Promise.resolve(value));
const fails = (error: unknown) => serverThat(() => Promise.reject(error));
const failure = (kind: ErrorKind) => new AppError(kind, kind);

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
    expect(await reads.isGone(fails(failure('not-found')), 'c')).toBe(true);
    expect(await reads.isGone(fails(failure('network')), 'c')).toBe(false);
    expect(await reads.isGone(answers('the record'), 'c')).toBe(false);
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
  it('has a message although no event has a signal', async () => {
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

let clock: TestClock;
let interruption: AbortController;
beforeEach(() => {
  clock = new TestClock();
  interruption = new AbortController();
});

describe('the servers of a tracker', () => {
  const server = { withSignal: (signal: AbortSignal) => Promise.resolve({ signal }) } as unknown as Server;
  const opened = (members: { signal?: AbortSignal } = {}): Promise<reads.BoundServers> =>
    reads.bindServers({ clock, signal: interruption.signal }, server, { deadlineMs: 60_000, ...members });

  it('are aborted at the deadline, except the one for what is read after it', async () => {
    await clock.pass(10_000);
    const servers = await opened();
    const { timed, late } = servers;
    expect([timed.server, late.server]).toEqual([{ signal: timed.signal }, { signal: late.signal }]);
    await clock.pass(49_999);
    expect(timed.signal.aborted).toBe(false);
    await clock.pass(1);
    expect([timed.signal.aborted, late.signal.aborted]).toEqual([true, false]);
    expect(timed.signal.reason).toMatchObject({ kind: 'timeout', message: 'the deadline has passed' });
    for (const { isOver } of [timed, late])
      expect([isOver(timed.signal.reason), isOver(new AppError('timeout', 'another'))]).toEqual([true, false]);
  });

  it('are both aborted by a stop, which leaves no timer', async () => {
    const servers = await opened();
    expect(clock.sleeping).toBe(1);
    servers.stop();
    expect([servers.timed.signal.aborted, servers.late.signal.aborted]).toEqual([true, true]);
    await clock.pass(0);
    expect(clock.sleeping).toBe(0);
  });

  it('are both aborted by the signal of the command', async () => {
    const { timed, late } = await opened();
    interruption.abort();
    expect([timed.signal.aborted, late.signal.aborted]).toEqual([true, true]);
  });

  it('are both aborted by the signal of the tracking', async () => {
    const other = new AbortController();
    const { timed, late } = await opened({ signal: other.signal });
    other.abort();
    expect([timed.signal.aborted, late.signal.aborted]).toEqual([true, true]);
  });
});
