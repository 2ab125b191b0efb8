import path from 'node:path';
import { mkdirSync, rmSync, writeFileSync, cpSync, readdirSync, truncateSync } from 'node:fs';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConversationState } from '../../../src/service/storage/conversation-state.ts';
import {
  deleteEventLog,
  eventLogFile,
  openEventLog,
} from '../../../src/service/storage/event-log.ts';
import { stateInLog, EventLogs, readLogStates } from '../../../src/service/storage/event-logs.ts';
import { storageError } from '../../../src/service/storage/storage-error.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
let logs: EventLogs;
beforeEach(() => {
  logs = new EventLogs(folder.path);
});
afterEach(() => {
  logs.close();
});

const idOf = (number: number): string => number.toString(16).padStart(32, '0');

/** Writes a log with one event. */
function writeLog(
  id: string,
  sandbox_id: string,
  event = 'event',
): { id: string; sandbox_id: string } {
  const eventsDir = path.join(folder.path, sandbox_id);
  mkdirSync(eventsDir, { recursive: true });
  const log = openEventLog(eventLogFile(eventsDir, id));
  log.append({
    id: event,
    timestamp: '2026-01-01T00:00:00.000000',
    source: 'agent',
    kind: 'MessageEvent',
  });
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
    const rows = Array.from({ length: 35 }, (_, number) =>
      writeLog(idOf(number), 's', `event-${number}`),
    );
    for (const round of [1, 2]) {
      expect([round, rows.map(read)]).toEqual([
        round,
        rows.map((_, number) => [`event-${number}`]),
      ]);
    }
  });

  it.each<[string, (file: string) => void, string]>([
    [
      'other text',
      (file) => writeFileSync(file, 'no database '.repeat(999)),
      'file is not a database',
    ],
    ['a folder', (file) => mkdirSync(file), 'Unable to open connection'],
    [
      'an event that is not JSON',
      (file) => {
        writeLog(path.basename(file, '.db'), 's');
        const database = new Database(file);
        database.exec("UPDATE events SET body = '{'");
        database.close();
      },
      'the event log is malformed: it holds a text that is not JSON',
    ],
  ])(
    'that cannot be read are an error that names the file, without a stack: %s',
    (_what, damage, why) => {
      const file = eventLogFile(path.join(folder.path, 's'), idOf(1));
      mkdirSync(path.dirname(file));
      damage(file);
      const error = (() => {
        try {
          return read({ id: idOf(1), sandbox_id: 's' });
        } catch (thrown) {
          return thrown as Error;
        }
      })() as Error;
      expect(error.message).toContain(why);
      expect(error.message).toContain(`(${file})`);
      expect([error.stack, storageError(error)?.status]).toEqual([error.message, 500]);
    },
  );

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
    log.write('state', { ...known, working_dir: '/hidden' } as unknown as ConversationState);
    log.close();
    expect(stateInLog(eventsDir, idOf(1))).toEqual(known);
    rmSync(eventsDir, { recursive: true });
  });
});

let eventsDir: string;
beforeEach(() => {
  eventsDir = path.join(folder.path, "an odd one's #1? 100%");
  mkdirSync(eventsDir);
});

const failed = (line: string): never => {
  throw new Error(line);
};

const stateOf = (number: number) =>
  ({
    conversation_id: idOf(number),
    execution_status: 'finished',
    title: String(number),
  }) as ConversationState;

/**
 * Made elsewhere and copied: a connection of this process to the very file would keep it open for
 * others, too.
 */
function write(numbers: readonly number[]): void {
  const source = path.join(folder.path, 'source');
  mkdirSync(source);
  for (const number of numbers) {
    const file = eventLogFile(source, idOf(number));
    const log = openEventLog(file);
    log.write('state', stateOf(number));
    const database = new Database(file);
    database.exec(`VACUUM INTO '${eventLogFile(eventsDir, idOf(number)).replaceAll("'", "''")}'`);
    database.close();
    log.close();
  }
}

/** As a kill leaves it: what was written is in the file beside the log. */
function writeAndKill(number: number): void {
  const file = eventLogFile(path.join(folder.path, 'source'), idOf(number));
  const log = openEventLog(file);
  log.write('state', stateOf(number));
  for (const suffix of ['', '-wal'])
    cpSync(file + suffix, eventLogFile(eventsDir, idOf(number)) + suffix);
  log.close();
}

describe('the states in the logs of a sandbox', () => {
  it('are read including the write-ahead log that a kill has left, and no file stays open', () => {
    write(Array.from({ length: 20 }, (_, number) => number));
    writeAndKill(20);
    const descriptors = (): number =>
      process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
    const before = descriptors();
    const states = readLogStates(eventsDir, failed);
    expect(descriptors() - before).toBeLessThan(10);
    expect([...states].map(([id, { title }]) => [id, title]).sort()).toEqual(
      Array.from({ length: 21 }, (_, number) => [idOf(number), String(number)]).sort(),
    );
  });

  it('that cannot be read are reported and left out', () => {
    write([1, 2, 3, 4]);
    writeFileSync(eventLogFile(eventsDir, idOf(2)), 'no database at all '.repeat(500));
    truncateSync(eventLogFile(eventsDir, idOf(3)), 5000);
    mkdirSync(eventLogFile(eventsDir, idOf(5)));
    writeFileSync(eventLogFile(eventsDir, idOf(6)), '');
    const lines: string[] = [];
    const states = readLogStates(eventsDir, (line) => lines.push(line));
    expect([...states.keys()].sort()).toEqual([idOf(1), idOf(4)]);
    expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(
      [2, 3, 5].map((each) => `conversation ${idOf(each)}`),
    );
  });

  it('of a missing folder are empty', () => {
    expect(readLogStates(path.join(folder.path, 'nowhere'), failed).size).toBe(0);
  });
});
