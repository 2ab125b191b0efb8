import { describe, expect, it } from 'vitest';
import { createNoticeKeeper, type NoticeKeeper } from '../../../src/service/app/conversation-notices.ts';
import type { ConversationNotice } from '../../../src/service/sandboxes/worker-protocol.ts';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { givenTitle } from '../../../src/service/storage/conversations.ts';
import type { EventLogs } from '../../../src/service/storage/event-logs.ts';
import { conversationRow } from '../../support/conversation-row.ts';
import { storeOfEachTest } from '../storage/support.ts';

const db = storeOfEachTest();

const ID = 'a'.repeat(32);
const STAMP = '2026-01-01T00:00:00.000000Z';

/** A keeper for one conversation with its first title, the conversations whose logs it has closed, and its log. */
function keeperOf(): { keeper: NoticeKeeper; forgotten: string[]; lines: string[] } {
  db.store.conversations.insert(conversationRow({ id: ID, title: givenTitle(ID), created_at: STAMP }));
  const forgotten: string[] = [];
  const lines: string[] = [];
  const logs = { forget: (id: string) => forgotten.push(id) } as unknown as EventLogs;
  return { keeper: createNoticeKeeper(db.store, logs, (line) => lines.push(line)), forgotten, lines };
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
    expect(db.store.conversations.get(ID)).toMatchObject({ execution_status: null, title: givenTitle(ID) });
  });
});

it('states that a worker reports while the disk is full are written when there is space', () => {
  const { keeper, lines } = keeperOf();
  const { conversations } = db.store;
  const { update } = conversations;
  conversations.update = () => {
    throw new Error('database or disk is full');
  };
  keeper.keep('sandbox', notice());
  expect(lines).toEqual([expect.stringContaining('disk is full')]);
  expect(conversations.get(ID)?.execution_status).toBe('error'); // effective already
  conversations.update = update;
  keeper.close();
  db.store.close();
  expect(db.open().conversations.get(ID)).toMatchObject({ execution_status: 'error' });
});
