import { describe, expect, it } from 'vitest';
import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import { NO_EVENTS } from '../../src/runs/outcome.ts';
import { readKnownRun } from '../../src/runs/tracker.ts';
import type { Server } from '../../src/client/shared/server.ts';
import { conversationEvent } from './support/source.ts';

const event = (id: string, signal: RunSignal | null): ConversationEvent =>
  conversationEvent(id, { signal });

describe('the run that is known from the events', () => {
  let queries: unknown[] = [];
  let given = 0;

  /** Pages of 100, as long as the reader takes them. */
  function serverWith(newestFirst: ConversationEvent[]): Server {
    queries = [];
    given = 0;
    async function* eventPages(
      id: string,
      query: { limit: number },
    ): AsyncGenerator<ConversationEvent[]> {
      queries.push([id, query]);
      for (let from = 0; from < Math.min(newestFirst.length, query.limit); from += 100) {
        given += 1;
        yield newestFirst.slice(from, from + 100);
        await Promise.resolve();
      }
    }
    return { conversations: { eventPages } } as unknown as Server;
  }
  const events = (count: number, signal: RunSignal | null) =>
    Array.from({ length: count }, (_, index) => event(`a${index}`, signal));

  it('is empty in a conversation without events', async () => {
    expect(await readKnownRun(serverWith([]), 'c')).toEqual({ summary: NO_EVENTS, last: null });
    expect(queries).toEqual([['c', { order: 'newest-first', limit: 300 }]]);
  });

  it('is that of the events since the latest message, in their order', async () => {
    const newest = event('e3', 'status:running');
    const older = [
      event('e2', 'activity'),
      event('e1', 'message'),
      event('e0', 'rejection'),
      ...events(200, 'activity'),
    ];
    expect(await readKnownRun(serverWith([newest, ...older]), 'c')).toEqual({
      summary: { ...NO_EVENTS, last_event_id: 'e3', since_message: 'some', in_progress: true },
      last: newest,
    });
    expect(given).toBe(1);
  });

  it.each([
    ['has none', 299, 'activity', 'unknown'],
    ['is older than 300 events', 300, 'activity', 'some'],
    ['is older than 400 events', 400, 'activity', 'some'],
    ['is older than 300 events without a signal', 300, null, 'some'],
  ] as const)('has a message when that %s: %i events', async (_, count, signal, since) => {
    const { summary } = await readKnownRun(serverWith(events(count, signal)), 'c');
    expect([summary.since_message, summary.last_event_id]).toEqual([since, 'a0']);
  });
});
