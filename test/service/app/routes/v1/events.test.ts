import { mkdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../../../src/service/storage/conversation-state.ts';
import { eventLogFile, openEventLog } from '../../../../../src/service/storage/event-log.ts';
import { appOfSuite, conversationOfEachDialect } from '../../support.ts';

const app = appOfSuite();
let search: string;

/** Two kinds by turns, a second apart. */
const EVENTS: StoredEvent[] = Array.from({ length: 5 }, (_, number) => ({
  id: `event-${number}`,
  timestamp: `2026-01-01T00:00:0${number}.000000`,
  source: 'agent',
  kind: number % 2 === 0 ? 'MessageEvent' : 'ActionEvent',
}));

beforeAll(async () => {
  const { v1, sandbox } = conversationOfEachDialect(app);
  search = `/api/v1/conversation/${v1}/events/search`;
  const folder = app.context.supervisor.eventsOf(sandbox);
  mkdirSync(folder, { recursive: true });
  const log = openEventLog(eventLogFile(folder, v1));
  for (const event of EVENTS) log.append(event);
  log.close();
});

async function found(query: string): Promise<[ids: number[], next: string | null]> {
  const { body } = await app.call('GET', `${search}?${query}`);
  const { items, next_page_id: next } = body as { items: StoredEvent[]; next_page_id: string | null };
  return [items.map(({ id }) => Number(id.replace('event-', ''))), next];
}

describe('the search of events', () => {
  it.each<[string, number[], string | null]>([
    ['', [0, 1, 2, 3, 4], null],
    ['limit=2', [0, 1], '2'],
    ['limit=2&page_id=2', [2, 3], '4'],
    ['limit=2&page_id=4', [4], null],
    ['page_id=999', [], null],
    ['sort_order=TIMESTAMP_DESC&limit=2', [4, 3], '2'],
    ['kind__eq=MessageEvent&limit=2', [0, 2], '2'],
    ['kind__eq=MessageEvent&limit=2&page_id=2', [4], null],
    ['timestamp__gte=2026-01-01T00:00:01Z&timestamp__lt=2026-01-01T00:00:03Z', [1, 2], null],
  ])('with %j returns %j and the next page %j', async (query, ids, next) => {
    expect(await found(query)).toEqual([ids, next]);
  });

  it.each([
    ['page_id=-1', 400],
    ['page_id=1e3', 400],
    ['page_id=1234567890123', 400],
    ['limit=0', 422],
    ['limit=101', 422],
    ['sort_order=NEWEST', 422],
    ['kind__eq=%27%20OR%201%3D1', 422],
  ])('is refused with %s: %i', async (query, status) => {
    expect((await app.call('GET', `${search}?${query}`)).status).toBe(status);
  });

  it('is empty for an unknown conversation, and refused for what is not an id', async () => {
    const at = (id: string) => app.call('GET', `/api/v1/conversation/${id}/events/search`);
    expect((await at('f'.repeat(32))).body).toEqual({ items: [], next_page_id: null });
    expect((await at('..%2F..%2Fkey')).status).toBe(422);
  });
});
