import { describe, expect, it } from 'vitest';
import { parseTrajectory, ReplayError } from '../../../../src/service/agents/replay/parse.ts';
import { parse, said, v1 } from './support.ts';

describe('a trajectory of V1', () => {
  it('is parsed to the steps of its actions, with the recorded risk', () => {
    const { steps, user_message } = parse([
      { kind: 'SystemPromptEvent', source: 'agent' },
      said('user', 'Do it.'),
      v1({ kind: 'TerminalAction', command: 'ls', timeout: 3 }, { security_risk: 'HIGH' }),
      { kind: 'ObservationEvent', observation: { kind: 'TerminalObservation' } },
      v1({ kind: 'ExecuteBashAction', command: 'pwd', reset: true }),
      v1({ kind: 'FileEditorAction', command: 'view', path: 'a', view_range: [1, -1] }),
      v1({ kind: 'FileEditorAction', command: 'undo_edit', path: 'a' }),
      v1({ kind: 'TaskTrackerAction', command: 'view' }),
      { kind: 'ActionEvent', source: 'agent', action: null },
      { kind: 'SomethingNewEvent' },
      { kind: 'ThinkAction', thought: 'hm' },
      said('agent', 'What else?'),
    ]);
    expect(user_message).toBe('Do it.');
    expect(steps).toMatchObject([
      { type: 'terminal', command: 'ls', timeout_seconds: 3, thought: 'why', risk: 'HIGH' },
      { type: 'terminal', command: 'pwd', reset: true },
      { type: 'edit', command: 'view', view_range: [1, -1] },
      { type: 'edit', command: 'undo_edit' },
      { type: 'think', thought: 'hm' },
      { type: 'message', text: 'What else?', ends_turn: true },
    ]);
  });

  it('ends in error where the recorded run ended in an error or was stuck in a loop', () => {
    const { steps } = parse([
      { kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'error' },
      { kind: 'ConversationErrorEvent', code: 'LLMRateLimitError', detail: 'Too many requests' },
      { kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'stuck' },
    ]);
    expect(steps).toEqual([
      { type: 'break', status: 'error', code: 'LLMRateLimitError', detail: 'Too many requests' },
      { type: 'break', status: 'stuck', code: '', detail: '' },
    ]);
  });

  it('ends a turn before the next user message', () => {
    const { steps } = parse([
      said('agent', 'one'),
      v1({ kind: 'TerminalAction', command: 'x' }),
      said('agent', 'two'),
      { kind: 'ConversationStateUpdateEvent' },
      said('user', 'more'),
      v1({ kind: 'FinishAction', message: 'end' }),
    ]);
    expect(steps).toMatchObject([{ ends_turn: false }, {}, { ends_turn: true }, {}]);
  });
});

describe('a malformed event is refused with its position and the error', () => {
  it.each([
    [
      '[{"kind":"ActionEvent","action":{"kind":"MCPToolAction","data":{}}}]',
      'the action "MCPToolAction" cannot be replayed',
    ],
    ['[{"kind":"FileEditorAction","command":"insert","path":"a","new_str":"x"}]', '"insert_line" must be a number'],
    ['[{"kind":"FileEditorAction","command":"view","path":"a","view_range":[1]}]', '"view_range" must hold two'],
    ['[{"kind":"MessageEvent","source":"agent"}]', 'holds no text'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});
