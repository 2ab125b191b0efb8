import { expect, it } from 'vitest';
import { toEvict } from '../../../src/service/sandboxes/supervisor.ts';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import type { ExecutionStatus } from '../../../src/service/storage/conversation-state.ts';
import { conversationRow } from '../../support/conversation-row.ts';
import { storeOfEachTest } from '../storage/support.ts';

const test = storeOfEachTest();

/** Stores a sandbox that has been idle since this minute. */
function idleSince(minute: number, status: SandboxRow['status'] = 'RUNNING'): string {
  const row = { ...newSandbox('process', `2026-01-01T00:0${minute}:00.000000Z`), status };
  test.store.sandboxes.insert(row);
  return row.id;
}

function addConversation(sandbox_id: string, execution_status: ExecutionStatus): void {
  test.store.conversations.insert(
    conversationRow({ id: 'a'.repeat(32), sandbox_id, execution_status, created_at: '' }),
  );
}

it('no sandbox is paused up to the limit', () => {
  const [first] = [idleSince(1), idleSince(2)];
  expect(toEvict(test.store, first, 2)).toEqual([]);
});

it('the sandboxes above the limit are paused, the longest idle first', () => {
  const [late, early, middle] = [idleSince(3), idleSince(1), idleSince(2)];
  expect(toEvict(test.store, late, 1)).toEqual([early, middle]);
  expect(toEvict(test.store, late, 2)).toEqual([early]);
});

it('the sandbox to keep is not paused although it is the longest idle, and above the limit alone', () => {
  const [early] = [idleSince(1), idleSince(2)];
  expect(toEvict(test.store, early, 1)).not.toContain(early);
  expect(toEvict(test.store, early, 0)).not.toContain(early);
});

it('a sandbox that is paused or in error does not count', () => {
  idleSince(2, 'PAUSED');
  idleSince(3, 'ERROR');
  expect(toEvict(test.store, idleSince(1), 1)).toEqual([]);
});

it('a sandbox with a conversation that runs is paused last', () => {
  const [busy, idle, kept] = [idleSince(1), idleSince(2), idleSince(3)];
  addConversation(busy, 'running');
  expect(toEvict(test.store, kept, 2)).toEqual([idle]);
  expect(toEvict(test.store, kept, 1)).toEqual([idle, busy]);
});
