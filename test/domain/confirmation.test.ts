import { describe, expect, it } from 'vitest';
import { pendingActionsV1, pendingActionV0 } from '../../src/domain/confirmation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';

const event = (
  id: string,
  source: string,
  kind: string,
  payload: Record<string, unknown>,
): ConversationEvent => ({
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
  event(id, source, 'ActionEvent', {
    tool_call_id: `call-${id}`,
    action: { kind: 'TerminalAction', command: id },
  });
const observed = (id: string) =>
  event(`after-${id}`, 'environment', 'ObservationEvent', { action_id: id });

describe('the pending actions of V1', () => {
  const idsOf = (oldestFirst: ConversationEvent[]) =>
    pendingActionsV1(oldestFirst.toReversed()).map(({ action_id }) => action_id);

  it('are those of the agent without an observation, oldest first', () => {
    expect(
      idsOf([command('a', 'agent'), observed('a'), command('b', 'agent'), command('c', 'agent')]),
    ).toEqual(['b', 'c']);
  });

  it('are answered by an event that has the id of the call alone', () => {
    const after = event('x', 'environment', 'AgentErrorEvent', { tool_call_id: 'call-a' });
    expect(idsOf([command('a', 'agent'), after, command('b', 'agent')])).toEqual(['b']);
  });

  it('do not include commands that the user runs meanwhile, before or after', () => {
    expect(idsOf([command('mine', 'user'), command('a', 'agent'), command('too', 'user')])).toEqual(
      ['a'],
    );
  });
});

describe('the text and the risk of a pending action', () => {
  const ofV1 = (payload: Record<string, unknown>) =>
    pendingActionsV1([event('a', 'agent', 'ActionEvent', payload)])[0];
  const ofV0 = (args: Record<string, unknown>) =>
    pendingActionV0([event('7', 'agent', 'action:run', { id: 7, args })]);

  it.each([
    [{ command: 'rm -rf build' }, '$ rm -rf build'],
    [{ command: 'y', is_input: true }, 'types into the running command: y'],
    [{ command: 'create', path: '/a', file_text: 'b', old_str: '' }, 'create /a\nfile_text: b'],
    [
      { path: '/a', view_range: [1, 2], security_risk: null, dry: false },
      'editor /a\nview_range: [1,2]',
    ],
    [{}, 'editor'],
  ])('over V1 are all that the user decides by: %j', (action, text) => {
    expect(ofV1({ tool_name: 'editor', action: { kind: 'EditAction', ...action } })).toEqual({
      action_id: 'a',
      kind: 'EditAction',
      text,
      risk: 'unknown',
    });
  });

  it.each([
    ['LOW', 'low'],
    ['MEDIUM', 'medium'],
    ['HIGH', 'high'],
    ['UNKNOWN', 'unknown'],
    [2, 'unknown'],
  ])('over V1 has the risk that the server gives: %s is %s', (security_risk, risk) => {
    expect(ofV1({ security_risk, action: {} })).toMatchObject({ kind: 'unknown', risk });
    expect(ofV1({ security_risk, tool_name: 'terminal', action: {} })).toMatchObject({
      kind: 'terminal',
      risk,
    });
  });

  it.each([
    [0, 'low'],
    [1, 'medium'],
    [2, 'high'],
    [-1, 'unknown'],
    ['high', 'unknown'],
  ])('over V0 has the risk that the server gives: %s is %s', (security_risk, risk) => {
    const hidden = { thought: 'why', confirmation_state: 'x', hidden: true, blocking: true };
    const args = { command: 'ls', security_risk, is_input: false, is_static: true, ...hidden };
    expect(ofV0(args)).toEqual({ action_id: '7', kind: 'run', text: '$ ls', risk });
  });

  it('over V0 lacks the members that the user does not decide by', () => {
    const hidden = { thought: 'why', confirmation_state: 'x', hidden: true, blocking: true };
    expect(ofV0({ path: '/a', security_risk: 1, is_static: true, ...hidden, new: 'b' })?.text).toBe(
      'run /a\nnew: b',
    );
  });

  it.each(['system', 'recall', 'think', 'finish', 'change_agent_state', 'condensation'])(
    'over V0 is never of an action %s',
    (action) => {
      expect(pendingActionV0([event('7', 'agent', `action:${action}`, { id: 7 })])).toBeNull();
    },
  );

  it('over V0 is of the newest action of the agent that has no answer', () => {
    const run = event('7', 'agent', 'action:run', { id: 7, args: { command: 'ls' } });
    const answered = event('8', 'agent', 'observation:run', { cause: 7 });
    const refused = event('8', 'agent', 'observation:null', { cause: 7 });
    const said = event('9', 'agent', 'action:message', { id: 9 });
    const ofUser = event('9', 'user', 'action:run', { id: 9, args: { command: 'pwd' } });
    expect(pendingActionV0([ofUser, said, refused, run])?.action_id).toBe('7');
    expect(pendingActionV0([said, answered, run])).toBeNull();
    expect(pendingActionV0([])).toBeNull();
  });
});
