import type { Sql } from './database.ts';

/** A message that waits for its conversation. */
export interface PendingMessage {
  id: string;
  role: string;
  content: unknown[];
}

/** Messages for conversations that are not there yet, by the id they were sent to: a conversation's or a task's. */
export interface PendingMessageStore {
  /** Answers the place in the queue, from 1; null when the queue is full. */
  add(target: string, message: PendingMessage): number | null;
  /** The queue of a target, oldest first. */
  list(target: string): PendingMessage[];
  /** Takes one out, once it is delivered. */
  remove(id: string): void;
  /** Forgets the queue of a conversation that will not come about. */
  drop(target: string): void;
}

/** Interface section 8.2. */
const MAX_PENDING = 10;

export function createPendingMessageStore(sql: Sql): PendingMessageStore {
  const count = (target: string): number =>
    sql.get<{ n: number }>('SELECT count(*) AS n FROM pending_messages WHERE target = ?', target)?.n ?? 0;
  return {
    add(target, message) {
      const position = count(target) + 1;
      if (position > MAX_PENDING) return null;
      const body = JSON.stringify(message);
      sql.run(
        'INSERT INTO pending_messages (id, target, message, position) VALUES (?, ?, ?, ?)',
        message.id,
        target,
        body,
        position,
      );
      return position;
    },
    list: (target) =>
      sql
        .all<{ message: string }>('SELECT message FROM pending_messages WHERE target = ? ORDER BY rowid', target)
        .map((row) => JSON.parse(row.message) as PendingMessage),
    remove(id) {
      sql.run('DELETE FROM pending_messages WHERE id = ?', id);
    },
    drop(target) {
      sql.run('DELETE FROM pending_messages WHERE target = ?', target);
    },
  };
}
