import Database from 'libsql';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  deleteEventLog,
  EventLog,
  eventLogFile,
  openEventLog,
  openEventLogReadOnly,
} from '../../../src/service/storage/event-log.ts';
import { naiveTimestamp } from '../../../src/service/lifecycle/clock.ts';
import type {
  ConversationState,
  StoredEvent,
} from '../../../src/service/storage/conversation-state.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const ID = '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f6';
const folder = folderOfEachTest();
let file: string;
let log: EventLog;

beforeEach(() => {
  file = eventLogFile(folder.path, ID);
  log = openEventLog(file);
});

afterEach(() => log.close());

function event(index: number, kind = 'ActionEvent'): StoredEvent {
  return {
    id: `event-${index}`,
    timestamp: naiveTimestamp(1_000_000 * index),
    source: 'agent',
    kind,
    text: `text ${index}`,
  };
}

function fill(count: number): StoredEvent[] {
  const events = Array.from({ length: count }, (_, index) =>
    event(index, index % 2 === 0 ? 'ActionEvent' : 'MessageEvent'),
  );
  for (const one of events) log.append(one);
  return events;
}

const state = {
  conversation_id: ID,
  execution_status: 'idle',
  title: null,
} as unknown as ConversationState;

describe('an event log', () => {
  it('is readable by its owner alone', () => {
    fill(3);
    for (const name of readdirSync(folder.path))
      expect(statSync(path.join(folder.path, name)).mode & 0o077).toBe(0);
  });

  it('continues a page at an event, in both orders and within a filter', () => {
    fill(7);
    const ids = (page: Parameters<EventLog['search']>[0]) =>
      log.search(page).items.map(({ id }) => id);
    expect(ids({ limit: 2, order: 'asc', fromId: 'event-3' })).toEqual(['event-3', 'event-4']);
    expect(ids({ limit: 2, order: 'desc', fromId: 'event-3' })).toEqual(['event-3', 'event-2']);
    expect(ids({ limit: 9, order: 'asc', kind: 'MessageEvent', fromId: 'event-3' })).toEqual([
      'event-3',
      'event-5',
    ]);
  });

  it('continues a page behind its last event, whatever was written since', () => {
    fill(6);
    const first = log.search({ limit: 2, order: 'desc' });
    log.append(event(6));
    const { items, next } = log.search({ limit: 2, order: 'desc', after: first.next?.after });
    expect([items.map(({ id }) => id), next]).toEqual([
      ['event-3', 'event-2'],
      { id: 'event-1', after: 3 },
    ]);
  });

  it('reads pages, ranges of time and the number of events without the events before', () => {
    fill(6);
    const database = new Database(file);
    const queries: string[] = [];
    const prepare = (text: string): Database.Statement => {
      if (text.startsWith('SELECT')) queries.push(text);
      return database.prepare(text);
    };
    const read = new EventLog({ prepare } as Database.Database);
    const range = { gte: event(2).timestamp, lt: event(4).timestamp };
    const found = [
      read.count(range),
      read.count(),
      read.search({ ...range, limit: 9, order: 'desc' }).items.length,
    ];
    expect(found).toEqual([2, 6, 2]);
    for (const order of ['asc', 'desc'] as const)
      read.search({ limit: 2, order, after: 3, kind: 'MessageEvent' });
    const plans = queries.map((query) => {
      const values = (query.match(/\?/g) ?? []).map(() => 1);
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${query}`).all(...values) as {
        detail: string;
      }[];
      return steps.map(({ detail }) => detail).join();
    });
    expect(plans.filter((plan) => !plan.startsWith('SEARCH'))).toEqual([]);
    database.close();
  });

  it('is followed by a reader while it is written', () => {
    const reader = openEventLogReadOnly(file);
    const [first, second] = fill(2);
    const at = reader?.lastSequence() ?? -1;
    expect(reader?.get(['event-1', 'none', 'event-0'])).toEqual([second, null, first]);
    log.append(event(2));
    expect(
      reader?.readAfter(at, 10).map(({ json }) => (JSON.parse(json) as StoredEvent).id),
    ).toEqual(['event-2']);
    expect(() => {
      reader?.append(event(3));
    }).toThrow();
    reader?.close();
  });

  it('writes events and state together or not at all', () => {
    log.appendWithState([event(0)], state);
    expect(() => {
      log.appendWithState([event(1), event(0)], { ...state, title: 'lost' });
    }).toThrow();
    expect([log.count(), log.read('state')?.title]).toEqual([1, null]);
  });

  it('keeps secrets apart from the state', () => {
    log.write('state', state);
    log.write('secrets', { TOKEN: 'secret' });
    expect(JSON.stringify(log.read('state'))).not.toContain('secret');
    expect(log.read('secrets')).toEqual({ TOKEN: 'secret' });
  });

  it('is absent before it is created and after it is deleted', () => {
    expect(openEventLogReadOnly(eventLogFile(folder.path, ID.replace('7', '8')))).toBe(null);
    log.close();
    deleteEventLog(file);
    expect(existsSync(file)).toBe(false);
    log = openEventLog(file);
    expect(log.count()).toBe(0);
  });
});
