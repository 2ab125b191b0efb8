/** Many conversations at once, written into the store of a local service that does not run. */
import { randomBytes } from 'node:crypto';
import { openStore } from '../../src/service/storage/index.ts';
import { conversationRow } from '../support/conversation-row.ts';
import type { Dialect } from './target.ts';

/** Ended ones, a second apart, the newest made now; in turn of each dialect. */
export function addConversations(
  database: string,
  count: number,
  dialects: readonly Dialect[],
): void {
  const nowMs = Date.now();
  const store = openStore(database);
  try {
    store.transaction(() => {
      for (let number = 0; number < count; number++) {
        const stamp = new Date(nowMs - number * 1000).toISOString().replace('Z', '000Z');
        store.conversations.insert(
          conversationRow({
            id: randomBytes(16).toString('hex'),
            dialect: dialects[number % dialects.length] === 'v0' ? 'V0' : 'V1',
            title: `Conversation ${number} of many`,
            created_at: stamp,
          }),
        );
      }
    });
  } finally {
    store.close();
  }
}
