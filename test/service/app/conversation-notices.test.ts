import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { createNoticeKeeper } from '../../../src/service/app/conversation-notices.ts';
import type { ConversationNotice } from '../../../src/service/base/worker-protocol.ts';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import { defaultTitle } from '../../../src/service/storage/conversations.ts';
import type { EventLogs } from '../../../src/service/storage/event-logs.ts';
import { conversationRow, storeOfEachTest } from '../storage/support.ts';

const db = storeOfEachTest();

const ID = 'a'.repeat(32);
const STAMP = '2026-01-01T00:00:00.000000Z';

/**
 * A keeper for one conversation with its first title, the conversations whose logs it has closed,
 * and its log.
 */
function keeperOf() {
  db.store.conversations.insert(
    conversationRow({ id: ID, title: defaultTitle(ID), created_at: STAMP }),
  );
  const forgotten: string[] = [];
  const lines: string[] = [];
  const logs = { forget: (id: string) => forgotten.push(id) } as unknown as EventLogs;
  return {
    keeper: createNoticeKeeper(db.store, logs, (line) => lines.push(line)),
    forgotten,
    lines,
  };
}

function notice(more: Partial<ConversationNotice> = {}): ConversationNotice {
  return {
    type: 'conversation',
    conversation_id: ID,
    execution_status: 'error',
    title: null,
    metrics: { accumulated_cost: 1 } as never,
    updated_at: '2026-01-01T00:00:01.000000Z',
    deleted: false,
    ...more,
  };
}

describe('the notices of workers', () => {
  it('are stored at once when the status changes, with the time of the use of the sandbox', () => {
    const { keeper } = keeperOf();
    const row = newSandbox('process', STAMP);
    db.store.sandboxes.insert(row);
    keeper.keep(row.id, notice({ execution_status: 'running' }));
    expect(db.store.conversations.get(ID)).toMatchObject({
      execution_status: 'running',
      metrics: { accumulated_cost: 1 },
    });
    expect(db.store.sandboxes.get(row.id)?.last_active_at).toBe(notice().updated_at);
    keeper.close();
  });

  it('of the same status are stored at the latest when the keeper is closed', () => {
    const { keeper } = keeperOf();
    keeper.keep('s', notice());
    keeper.keep('s', notice({ metrics: { accumulated_cost: 2 } as never }));
    expect(db.store.conversations.get(ID)).toMatchObject({ metrics: { accumulated_cost: 1 } });
    keeper.close();
    expect(db.store.conversations.get(ID)).toMatchObject({ metrics: { accumulated_cost: 2 } });
  });

  it('replace the first title, and a title of the user only by one that is new', () => {
    const { keeper } = keeperOf();
    const titleAfter = (execution_status: 'idle' | 'running', title: string) => {
      keeper.keep('s', notice({ execution_status, title }));
      return db.store.conversations.get(ID)?.title;
    };
    expect(titleAfter('running', 'Of the run')).toBe('Of the run');
    db.store.conversations.update(ID, { title: 'Of the user' });
    expect(titleAfter('idle', 'Of the run')).toBe('Of the user');
    expect(titleAfter('running', 'Of the next run')).toBe('Of the next run');
    keeper.close();
  });

  it('of a deleted conversation close its log and clear its status', () => {
    const { keeper, forgotten } = keeperOf();
    keeper.keep('s', notice());
    keeper.keep('s', notice({ title: 'Not written any more' }));
    keeper.keep('s', notice({ deleted: true }));
    keeper.close();
    expect(forgotten).toEqual([ID]);
    expect(db.store.conversations.get(ID)).toMatchObject({
      execution_status: null,
      title: defaultTitle(ID),
    });
  });
});

it('a state that the full disk refuses is logged, and written with the next notice', () => {
  const { keeper, lines } = keeperOf();
  const other = new Database(db.file);
  other.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON conversations BEGIN SELECT RAISE(FAIL, 'disk is " +
      "full'); END",
  );
  keeper.keep('sandbox', notice());
  expect(lines).toEqual([expect.stringContaining('disk is full')]);
  expect(db.store.conversations.get(ID)?.execution_status).toBe('finished');
  other.exec('DROP TRIGGER full');
  other.close();
  keeper.keep('sandbox', notice({ execution_status: 'idle' }));
  expect(db.store.conversations.get(ID)?.execution_status).toBe('idle');
  keeper.close();
});
