import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConversationState } from '../../../src/service/storage/conversation-state.ts';
import { deleteEventLog, eventLogFile, openEventLog } from '../../../src/service/storage/event-log.ts';
import { createEventLogs, stateInLog, type EventLogs } from '../../../src/service/storage/event-logs.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
let logs: EventLogs;
beforeEach(() => {
  logs = createEventLogs(folder.path);
});
afterEach(() => {
  logs.close();
});

const idOf = (number: number): string => number.toString(16).padStart(32, '0');

/** Writes a log with one event. */
function writeLog(id: string, sandbox_id: string, event = 'event'): { id: string; sandbox_id: string } {
  const eventsDir = path.join(folder.path, sandbox_id);
  mkdirSync(eventsDir, { recursive: true });
  const log = openEventLog(eventLogFile(eventsDir, id));
  log.append({ id: event, timestamp: '2026-01-01T00:00:00.000000', source: 'agent', kind: 'MessageEvent' });
  log.close();
  return { id, sandbox_id };
}

const read = (row: { id: string; sandbox_id: string | null }): string[] | null =>
  logs.read(row, (log) => log.search({ limit: 10, order: 'asc' }).items.map(({ id }) => id));

describe('the logs of a service', () => {
  it('are null for a conversation without a sandbox, without a log, and with an empty file', () => {
    expect(read({ id: idOf(1), sandbox_id: null })).toBeNull();
    expect(read({ id: idOf(1), sandbox_id: 's' })).toBeNull();
    mkdirSync(path.join(folder.path, 's'));
    writeFileSync(path.join(folder.path, 's', `${idOf(1)}.db`), '');
    expect(read({ id: idOf(1), sandbox_id: 's' })).toBeNull();
    writeLog(idOf(1), 's');
    expect(read({ id: idOf(1), sandbox_id: 's' })).toEqual(['event']);
  });

  it('are read again after they were closed because others were used', () => {
    const rows = Array.from({ length: 70 }, (_, number) => writeLog(idOf(number), 's', `event-${number}`));
    for (const round of [1, 2]) {
      expect([round, rows.map(read)]).toEqual([round, rows.map((_, number) => [`event-${number}`])]);
    }
  });

  it('are read from the sandbox that the conversation has now', () => {
    expect(read(writeLog(idOf(1), 'before', 'old'))).toEqual(['old']);
    expect(read(writeLog(idOf(1), 'after', 'new'))).toEqual(['new']);
  });

  it('are not read from a deleted file after they were forgotten', () => {
    const row = writeLog(idOf(1), 's', 'old');
    expect(read(row)).toEqual(['old']);
    logs.forget(row.id);
    logs.forget(idOf(2));
    deleteEventLog(eventLogFile(path.join(folder.path, 's'), row.id));
    expect(read(row)).toBeNull();
    writeLog(idOf(1), 's', 'new');
    expect(read(row)).toEqual(['new']);
  });
});

describe('the state in a log', () => {
  it('has the members that the store has, and is null without a log or a state', () => {
    const eventsDir = path.join(folder.path, 's');
    expect(stateInLog(eventsDir, idOf(1))).toBeNull();
    writeLog(idOf(1), 's');
    expect(stateInLog(eventsDir, idOf(1))).toBeNull();
    const log = openEventLog(eventLogFile(eventsDir, idOf(1)));
    const known = { execution_status: 'paused', metrics: null, updated_at: 'then', title: 'Mine' };
    log.writeState({ ...known, working_dir: '/hidden' } as unknown as ConversationState);
    log.close();
    expect(stateInLog(eventsDir, idOf(1))).toEqual(known);
    rmSync(eventsDir, { recursive: true });
  });
});
