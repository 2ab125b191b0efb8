import { describe, expect, it } from 'vitest';
import { pendingActionsV1 } from '../../src/domain/confirmation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';

const event = (id: string, source: string, kind: string, payload: Record<string, unknown>): ConversationEvent => ({
  type: 'event',
  id,
  conversation_id: 'c',
  timestamp: '2026-11-21T10:00:00Z',
  source,
  kind,
  text: '',
  payload,
  signal: null,
});
const command = (id: string, source: string) =>
  event(id, source, 'ActionEvent', { tool_call_id: `call-${id}`, action: { kind: 'TerminalAction', command: id } });
const observed = (id: string) => event(`after-${id}`, 'environment', 'ObservationEvent', { action_id: id });

describe('the pending actions of V1', () => {
  const idsOf = (oldestFirst: ConversationEvent[]) =>
    pendingActionsV1(oldestFirst.toReversed()).map(({ action_id }) => action_id);

  it('are those of the agent without an observation, oldest first', () => {
    expect(idsOf([command('a', 'agent'), observed('a'), command('b', 'agent'), command('c', 'agent')])).toEqual([
      'b',
      'c',
    ]);
  });

  it('do not include commands that the user runs meanwhile, before or after', () => {
    expect(idsOf([command('mine', 'user'), command('a', 'agent'), command('too', 'user')])).toEqual(['a']);
  });
});
