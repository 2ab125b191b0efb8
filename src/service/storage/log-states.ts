/**
 * The states in all logs of a sandbox whose worker is gone. One connection reads log after log: a connection for each
 * costs milliseconds, and its files stay open until memory is collected, which for thousands of logs comes too late.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import type { ConversationState } from './conversation-state.ts';

/**
 * The states by conversation. A log that cannot be read is logged and left out.
 * @param eventsDir folder of the logs of one sandbox; it need not be there
 * @param log takes a line for each log that cannot be read
 */
export function readLogStates(eventsDir: string, log: (line: string) => void): Map<string, ConversationState> {
  const states = new Map<string, ConversationState>();
  if (!existsSync(eventsDir)) return states;
  const ids = readdirSync(eventsDir).flatMap((name) => /^([0-9a-f]{32})\.db$/.exec(name)?.[1] ?? []);
  if (ids.length === 0) return states;
  const database = new Database(':memory:');
  try {
    for (const id of ids) {
      try {
        const state = readState(database, path.join(eventsDir, `${id}.db`));
        if (state !== null) states.set(id, state);
      } catch (error) {
        log(`conversation ${id}: its log cannot be read: ${String(error)}`);
      }
    }
  } finally {
    database.close();
  }
  return states;
}

function readState(database: Database.Database, file: string): ConversationState | null {
  database.exec(`ATTACH '${addressOf(file).replaceAll("'", "''")}' AS log`);
  try {
    const hasSchema = database.prepare("SELECT 1 FROM log.sqlite_master WHERE name = 'documents'").get();
    if (hasSchema === undefined) return null;
    const row = database.prepare("SELECT body FROM log.documents WHERE name = 'state'").get();
    return row === undefined ? null : (JSON.parse((row as { body: string }).body) as ConversationState);
  } finally {
    database.exec('DETACH log');
  }
}

/** A log without a write-ahead log is opened read-only, which creates no file. */
function addressOf(file: string): string {
  const { href } = pathToFileURL(file);
  return existsSync(`${file}-wal`) ? href : `${href}?immutable=1`;
}
