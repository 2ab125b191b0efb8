import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLogStates } from '../../../src/service/storage/log-states.ts';
import { eventLogFile, openEventLog } from '../../../src/service/storage/event-log.ts';
import type { ConversationState } from '../../../src/service/storage/conversation-state.ts';

let dir: string;
let eventsDir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-states-'));
  eventsDir = path.join(dir, "an odd one's #1? 100%");
  mkdirSync(eventsDir);
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const idOf = (number: number): string => String(number).padStart(32, 'a');
const failed = (line: string): never => {
  throw new Error(line);
};

const stateOf = (number: number) =>
  ({ conversation_id: idOf(number), execution_status: 'finished', title: String(number) }) as ConversationState;

/** Made elsewhere and copied: a connection of this process to the very file would keep it open for others, too. */
function write(numbers: readonly number[]): void {
  const source = path.join(dir, 'source');
  mkdirSync(source);
  for (const number of numbers) {
    const file = eventLogFile(source, idOf(number));
    const log = openEventLog(file);
    log.writeState(stateOf(number));
    const database = new Database(file);
    database.exec(`VACUUM INTO '${eventLogFile(eventsDir, idOf(number)).replaceAll("'", "''")}'`);
    database.close();
    log.close();
  }
}

/** As a kill leaves it: what was written is in the file beside the log. */
function writeAndKill(number: number): void {
  const file = eventLogFile(path.join(dir, 'source'), idOf(number));
  const log = openEventLog(file);
  log.writeState(stateOf(number));
  for (const suffix of ['', '-wal']) cpSync(file + suffix, eventLogFile(eventsDir, idOf(number)) + suffix);
  log.close();
}

describe('the states in the logs of a sandbox', () => {
  it('are read including the write-ahead log that a kill has left, and no file stays open', () => {
    write(Array.from({ length: 40 }, (_, number) => number));
    writeAndKill(40);
    const descriptors = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0);
    const before = descriptors();
    const states = readLogStates(eventsDir, failed);
    expect(descriptors() - before).toBeLessThan(10);
    expect([...states].map(([id, { title }]) => [id, title]).sort()).toEqual(
      Array.from({ length: 41 }, (_, number) => [idOf(number), String(number)]).sort(),
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
    expect(readLogStates(path.join(dir, 'nowhere'), failed).size).toBe(0);
  });
});
