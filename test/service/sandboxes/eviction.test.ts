import { expect, it } from 'vitest';
import { check } from '../../../src/protocol/detail.ts';
import { appConversationStart } from '../../../src/protocol/v1/requests.ts';
import { toEvict } from '../../../src/service/sandboxes/eviction.ts';
import { newConversation } from '../../../src/service/app/starts/start-plan.ts';
import { startFromV1 } from '../../../src/service/app/starts/start-request.ts';
import { specChoice } from '../../../src/service/sandboxes/specs.ts';
import type { ExecutionStatus } from '../../../src/service/storage/conversation-state.ts';
import { storeOfTest } from './support.ts';

const test = storeOfTest();

/** A sandbox that has been idle since this minute. */
const idleSince = (minute: number): string =>
  test.add({ last_active_at: `2026-01-01T00:0${String(minute)}:00.000000Z` }).id;

function addConversation(sandbox_id: string, execution_status: ExecutionStatus): void {
  const body = check(appConversationStart, { replay_json: 'demo' }, 'body');
  if (!body.ok) throw new Error('the request is refused');
  const request = startFromV1(body.value, { settings: null, specs: specChoice('process', null), defaultReplay: null });
  const row = newConversation('a'.repeat(32), request, 'ready', '2026-01-01T00:00:00.000000Z');
  test.store.conversations.insert({ ...row, sandbox_id, execution_status });
}

it('no sandbox is paused up to the limit', () => {
  const [first] = [idleSince(1), idleSince(2)];
  expect(toEvict(test.store, first, 2).ids).toEqual([]);
});

it('the sandboxes above the limit are paused, the longest idle first', () => {
  const [late, early, middle] = [idleSince(3), idleSince(1), idleSince(2)];
  expect(toEvict(test.store, late, 1).ids).toEqual([early, middle]);
  expect(toEvict(test.store, late, 2)).toEqual({
    ids: [early],
    detail: 'paused because more than 2 sandboxes were running',
  });
});

it('the sandbox to keep is not paused although it is the longest idle, and above the limit alone', () => {
  const [early] = [idleSince(1), idleSince(2)];
  expect(toEvict(test.store, early, 1).ids).not.toContain(early);
  expect(toEvict(test.store, early, 0).ids).not.toContain(early);
});

it('a sandbox that is paused or in error does not count', () => {
  test.add({ status: 'PAUSED' });
  test.add({ status: 'ERROR' });
  expect(toEvict(test.store, idleSince(1), 1).ids).toEqual([]);
});

it('a sandbox with a conversation that runs is paused last', () => {
  const [busy, idle, kept] = [idleSince(1), idleSince(2), idleSince(3)];
  addConversation(busy, 'running');
  expect(toEvict(test.store, kept, 2).ids).toEqual([idle]);
  expect(toEvict(test.store, kept, 1).ids).toEqual([idle, busy]);
});
