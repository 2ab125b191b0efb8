import { describe, expect, it } from 'vitest';
import { actionDraft, asRecord, asText, textsOf, toolCallOf } from '../../../../src/service/app/v0-events/actions.ts';

const action = (members: object, more: object = {}) => actionDraft({ source: 'agent', action: members, ...more });

describe('an action of V1 in V0', () => {
  it.each([
    [{ kind: 'TerminalAction', command: 'ls', is_input: true }, 'run', { command: 'ls', is_input: true }],
    [{ kind: 'ExecuteBashAction', command: 'ls' }, 'run', { command: 'ls', is_input: false }],
    [
      { kind: 'FileEditorAction', command: 'create', path: '/a', file_text: 'x' },
      'write',
      { path: '/a', content: 'x' },
    ],
    [{ kind: 'FileEditorAction', command: 'view', path: '/a' }, 'read', { path: '/a', start: 0, end: -1 }],
    [
      { kind: 'FileEditorAction', command: 'view', path: '/a', view_range: [3, 9] },
      'read',
      { path: '/a', start: 2, end: 9 },
    ],
    [
      { kind: 'FileEditorAction', command: 'str_replace', path: '/a', old_str: 'x', new_str: '' },
      'edit',
      { command: 'str_replace', old_str: 'x', new_str: '', insert_line: null },
    ],
    [{ kind: 'FinishAction', message: 'Done' }, 'finish', { final_thought: 'Done', outputs: {} }],
    [{ kind: 'ThinkAction', thought: 'Hm' }, 'think', { thought: 'Hm' }],
    [{ kind: 'MCPToolAction', data: { a: 1 } }, 'call_tool_mcp', { name: 'MCPToolAction', arguments: { a: 1 } }],
    [{ kind: 'OtherAction', a: 1 }, 'call_tool_mcp', { name: 'OtherAction', arguments: { a: 1 } }],
  ])('%j is %s', (members, name, args) => {
    expect(action(members)).toMatchObject({ source: 'agent', action: name, args });
  });

  it('has its thought and its risk', () => {
    const thought = [{ type: 'text', text: 'first' }, { type: 'image' }, { type: 'text', text: 'second' }];
    const risks = ['HIGH', 'LOW', 'UNKNOWN', 'other', 5].map((security_risk) => {
      const draft = action({ kind: 'TerminalAction', command: 'ls' }, { thought, security_risk });
      return [draft.args?.thought, draft.args?.security_risk];
    });
    const text = 'first\nsecond';
    expect(risks).toEqual([
      [text, 2],
      [text, 0],
      [text, -1],
      [text, -1],
      [text, -1],
    ]);
  });

  it('of the user has no call of a tool', () => {
    const event = { action: { kind: 'TerminalAction', command: 'ls' }, tool_name: 'terminal', tool_call_id: 'c1' };
    expect(actionDraft({ ...event, source: 'user' })).not.toHaveProperty('tool_call_metadata');
    expect(actionDraft({ ...event, source: 'agent' }).tool_call_metadata).toEqual({
      function_name: 'terminal',
      tool_call_id: 'c1',
      model_response: null,
      total_calls_in_response: 1,
    });
    expect(toolCallOf({ tool_name: 5 })).toMatchObject({ function_name: '', tool_call_id: '' });
  });

  it('with members of other types has empty texts', () => {
    for (const members of [null, [], 'text', { kind: 'TerminalAction', command: ['ls'] }]) {
      expect(action(members as object)).toMatchObject({ source: 'agent', action: expect.any(String) as string });
    }
    expect([asRecord([1]), asRecord(null), asText(5), textsOf('text'), textsOf([null, 5, { text: 5 }])]).toEqual([
      {},
      {},
      '',
      'text',
      '',
    ]);
  });
});
