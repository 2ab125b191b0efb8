import { describe, expect, it } from 'vitest';
import type { StartTaskRow } from '../../../src/service/storage/start-tasks.ts';
import { storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

function task(number: number, more: Partial<StartTaskRow> = {}): StartTaskRow {
  const stamp = `2026-01-01T00:00:0${number}.000000Z`;
  return {
    id: `task-${number}`,
    dialect: 'V1',
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    conversation_id: `conversation-${number}`,
    sandbox_id: null,
    agent_server_url: null,
    request: { title: "it's", nested: [{ deep: null }] },
    created_at: stamp,
    updated_at: stamp,
    ...more,
  };
}

describe('the store of start tasks', () => {
  it('returns what was written, and null for an unknown id', () => {
    const { startTasks } = db.store;
    startTasks.insert(task(1));
    startTasks.update('task-1', { status: 'ERROR', detail: 'why' });
    startTasks.update('task-1', { sandbox_id: 's' });
    expect(startTasks.get('task-1')).toEqual(task(1, { status: 'ERROR', detail: 'why', sandbox_id: 's' }));
    expect(startTasks.get('task-2')).toBeNull();
  });

  it('filters by dialect, conversation and time, and counts what it would list', () => {
    const { startTasks } = db.store;
    for (const number of [1, 2, 3]) startTasks.insert(task(number));
    startTasks.insert(task(4, { dialect: 'V0', conversation_id: 'conversation-3' }));
    const filters = [
      [{}, ['task-1', 'task-2', 'task-3', 'task-4']],
      [{ dialect: 'V1' }, ['task-1', 'task-2', 'task-3']],
      [{ conversationId: 'conversation-3' }, ['task-3', 'task-4']],
      [{ createdGte: task(2).created_at, dialect: 'V1' }, ['task-2', 'task-3']],
      [{ conversationId: "' OR 1=1 --" }, []],
    ] as const;
    for (const [filter, ids] of filters) {
      expect(startTasks.page(filter, 'CREATED_AT', 10, 0).map(({ id }) => id)).toEqual(ids);
      expect(startTasks.count(filter)).toBe(ids.length);
    }
  });

  it('orders by the time of creation or of the last change, in pages', () => {
    const { startTasks } = db.store;
    startTasks.insert(task(1, { updated_at: task(9).updated_at }));
    for (const number of [2, 3]) startTasks.insert(task(number));
    const sorted = (['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC'] as const).map((sort) =>
      startTasks.page({}, sort, 2, 1).map(({ id }) => id),
    );
    expect(sorted).toEqual([
      ['task-2', 'task-3'],
      ['task-2', 'task-1'],
      ['task-3', 'task-1'],
      ['task-3', 'task-2'],
    ]);
  });

  it('names as unfinished each task that is neither ready nor failed', () => {
    const { startTasks } = db.store;
    const statuses = ['WORKING', 'READY', 'WAITING_FOR_SANDBOX', 'ERROR', 'STARTING_CONVERSATION'] as const;
    for (const [number, status] of statuses.entries()) startTasks.insert(task(number, { status }));
    expect(startTasks.unfinished().map(({ id }) => id)).toEqual(['task-0', 'task-2', 'task-4']);
  });
});
