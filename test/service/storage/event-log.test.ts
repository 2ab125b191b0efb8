import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  deleteEventLog,
  type EventLog,
  eventLogFile,
  openEventLog,
  openEventLogReadOnly,
} from '../../../src/service/storage/event-log.ts';
import { naiveTimestamp, zonedTimestamp } from '../../../src/service/lifecycle/clock.ts';
import { EventClock } from '../../../src/service/lifecycle/clock.ts';
import type { ConversationState, StoredEvent } from '../../../src/service/storage/conversation-state.ts';

const ID = '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f6';
let folder: string;
let file: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'acs-log-'));
  file = eventLogFile(folder, ID);
  log = openEventLog(file);
});

afterEach(() => {
  log.close();
  rmSync(folder, { recursive: true, force: true });
});

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

const state = { conversation_id: ID, execution_status: 'idle', title: null } as unknown as ConversationState;

describe('an event log', () => {
  it('is readable by its owner alone', () => {
    fill(3);
    for (const name of readdirSync(folder)) expect(statSync(path.join(folder, name)).mode & 0o077).toBe(0);
  });

  it('pages by event and by offset, in both orders', () => {
    const events = fill(7);
    const ids = (from: Parameters<EventLog['search']>[0]) => log.search(from).items.map((one) => one.id);
    expect(log.search({ limit: 3, order: 'asc' })).toEqual({
      items: events.slice(0, 3),
      next: { id: 'event-3', offset: 3 },
    });
    expect(ids({ limit: 3, order: 'asc', fromId: 'event-3' })).toEqual(['event-3', 'event-4', 'event-5']);
    expect(ids({ limit: 3, order: 'asc', offset: 3 })).toEqual(['event-3', 'event-4', 'event-5']);
    expect(log.search({ limit: 4, order: 'asc', fromId: 'event-3' }).next).toBe(null);
    expect(log.search({ limit: 2, order: 'desc', fromId: 'event-3' })).toEqual({
      items: [events[3], events[2]],
      next: { id: 'event-1', offset: 5 },
    });
    expect(ids({ limit: 1, order: 'asc', fromId: 'unknown' })).toEqual(['event-0']);
    expect(ids({ limit: 9, order: 'asc', kind: 'MessageEvent', fromId: 'event-3' })).toEqual(['event-3', 'event-5']);
  });

  it('filters by kind, source, text and time', () => {
    fill(6);
    expect(log.count()).toBe(6);
    expect(log.count({ kind: 'MessageEvent' })).toBe(3);
    expect(log.count({ source: 'user' })).toBe(0);
    expect(log.count({ body: 'TEXT 4' })).toBe(1);
    expect(log.count({ gte: naiveTimestamp(2_000_000), lt: naiveTimestamp(4_000_000) })).toBe(2);
  });

  it('is followed by a reader while it is written', () => {
    const reader = openEventLogReadOnly(file);
    const [first, second] = fill(2);
    const at = reader?.lastSequence() ?? -1;
    expect(reader?.get(['event-1', 'none', 'event-0'])).toEqual([second, null, first]);
    log.append(event(2));
    expect(reader?.readAfter(at, 10).map(({ json }) => (JSON.parse(json) as StoredEvent).id)).toEqual(['event-2']);
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
    expect([log.count(), log.readState()?.title]).toEqual([1, null]);
  });

  it('keeps secrets apart from the state', () => {
    log.writeState(state);
    log.writeSecrets({ TOKEN: 'secret' });
    expect(JSON.stringify(log.readState())).not.toContain('secret');
    expect(log.readSecrets()).toEqual({ TOKEN: 'secret' });
  });

  it('is absent before it is created and after it is deleted', () => {
    expect(openEventLogReadOnly(eventLogFile(folder, ID.replace('7', '8')))).toBe(null);
    log.close();
    deleteEventLog(file);
    expect(existsSync(file)).toBe(false);
    log = openEventLog(file);
    expect(log.count()).toBe(0);
  });
});

describe('the clock of events', () => {
  it('never goes back, not even when the system clock does', () => {
    const times = [5_000_000, 4_000_000, 4_000_000, 7_000_000];
    const clock = new EventClock(() => times.shift() ?? 0, naiveTimestamp(5_500_001));
    expect([clock.next(), clock.next(), clock.next(), clock.next()]).toEqual([
      '1970-01-01T00:00:05.500002',
      '1970-01-01T00:00:05.500003',
      '1970-01-01T00:00:05.500004',
      '1970-01-01T00:00:07.000000',
    ]);
  });

  it('writes microseconds, with a zone except in events', () => {
    expect(zonedTimestamp(1_795_255_949_758_035)).toBe('2026-11-21T10:12:29.758035Z');
  });
});
