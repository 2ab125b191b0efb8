import { describe, expect, it } from 'vitest';
import {
  actionIdOf,
  commandOf,
  elapsed,
  EVENT_KINDS,
  eventText,
  exitCodeOf,
  firstLine,
  fullText,
  isBookkeeping,
  isErrorOf,
  riskOf,
  shapeOf,
  statusWordOf,
  thoughtOf,
} from '../../src/domain/event-payload.ts';

const text = (value: string) => [{ type: 'text', text: value }];

/** Of openhands-sdk 1.58.0, without those that are no events of the history. */
const KINDS = `ACPToolCallEvent ActionEvent AgentErrorEvent Condensation CondensationRequest CondensationSummaryEvent
  ConversationErrorEvent ConversationStateUpdateEvent HookExecutionEvent InterruptEvent LLMCompletionLogEvent
  MessageEvent ObservationEvent PauseEvent SecurityAnalysisEvent ServerErrorEvent SystemPromptEvent
  UserRejectObservation`;

it.each(KINDS.split(/\s+/))(
  'the line of a V1 event of the kind %s is not the name of its class',
  (kind) => {
    expect(eventText(kind, {})).not.toBe(kind);
  },
);

describe('the line of a V1 event', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['MessageEvent', { llm_message: { content: text('first\nsecond') } }, 'first …'],
    [
      'MessageEvent',
      { llm_message: { content: [...text('look'), { type: 'image', image_urls: ['u'] }] } },
      'look [1 image]',
    ],
    ['SecurityAnalysisEvent', { risks: { a: 'LOW', b: 'HIGH' } }, 'risk: low, high'],
    ['ACPToolCallEvent', { title: 'Edit a.ts' }, 'Edit a.ts'],
    ['ACPToolCallEvent', { title: 'Edit a.ts', status: 'in_progress' }, 'Edit a.ts'],
    ['ACPToolCallEvent', { title: 'Edit a.ts', status: 'completed' }, 'Edit a.ts: completed'],
    ['ACPToolCallEvent', { title: 'Edit a.ts', is_error: true }, 'Edit a.ts: failed'],
    ['HookExecutionEvent', { hook_event_type: 'Stop', success: true }, 'hook Stop: done'],
    [
      'HookExecutionEvent',
      { hook_event_type: 'PreToolUse', blocked: true, reason: 'no' },
      'hook PreToolUse: no',
    ],
    ['HookExecutionEvent', { hook_event_type: 'Stop', success: false }, 'hook Stop: failed'],
    ['HookExecutionEvent', { hook_event_type: 'Stop', error: 'no' }, 'hook Stop: no'],
    ['ActionEvent', { action: { kind: 'TerminalAction', command: 'ls -la' } }, '$ ls -la'],
    [
      'ActionEvent',
      { action: { kind: 'FileEditorAction', command: 'create', path: '/w/a' } },
      'create /w/a',
    ],
    ['ActionEvent', { action: { kind: 'FinishAction', message: 'done' } }, 'done'],
    [
      'ActionEvent',
      { action: { kind: 'BrowserAction' }, summary: 'open a page', tool_name: 'browser' },
      'open a page',
    ],
    [
      'MessageEvent',
      { llm_message: { content: [{ type: 'image' }, { type: 'image' }] } },
      '[2 images]',
    ],
    ['ActionEvent', { action: { kind: 'ExecuteBashAction', command: 'pwd' } }, '$ pwd'],
    ['ActionEvent', { action: { kind: 'StrReplaceEditorAction', command: 'view' } }, 'view'],
    ['ActionEvent', { action: { kind: 'FinishAction' } }, 'finished'],
    ['ActionEvent', { action: { kind: 'ThinkAction', thought: 'why' }, tool_name: 'think' }, 'why'],
    ['ActionEvent', { action: { kind: 'BrowserAction' }, tool_name: 'browser' }, 'browser'],
    ['ActionEvent', { action: null, tool_name: 'terminal' }, 'terminal (not carried out)'],
    [
      'ObservationEvent',
      { tool_name: 'terminal', observation: { content: text('out'), exit_code: 3 } },
      'exit 3: out',
    ],
    [
      'ObservationEvent',
      { tool_name: 'terminal', observation: { content: text('out'), exit_code: 0 } },
      'out',
    ],
    [
      'ObservationEvent',
      { tool_name: 'terminal', observation: { content: [], exit_code: 1 } },
      'exit 1',
    ],
    [
      'ObservationEvent',
      { tool_name: 'browser', observation: { content: text('no'), is_error: true } },
      'error: no',
    ],
    ['ObservationEvent', { tool_name: 'think', observation: { content: [] } }, 'think: done'],
    ['AgentErrorEvent', { tool_name: 'terminal', error: 'broken' }, 'error in terminal: broken'],
    [
      'UserRejectObservation',
      { tool_name: 'terminal', rejection_reason: 'no' },
      'rejected terminal: no',
    ],
    [
      'ConversationStateUpdateEvent',
      { key: 'execution_status', value: 'running' },
      'execution_status: running',
    ],
    ['ConversationStateUpdateEvent', { key: 'max_iterations', value: 5 }, 'max_iterations: 5'],
    ['ConversationStateUpdateEvent', { key: 'stats', value: { cost: 1 } }, 'stats'],
    ['Condensation', { summary: 'short' }, 'history condensed: short'],
    ['CondensationSummaryEvent', { summary: 'short' }, 'summary: short'],
    ['ServerErrorEvent', { code: 'Crashed' }, 'Crashed'],
    [
      'ConversationErrorEvent',
      { code: 'MaxIterationsReached', detail: 'limit' },
      'MaxIterationsReached: limit',
    ],
    ['PauseEvent', {}, 'paused'],
    ['InterruptEvent', {}, 'interrupted'],
    ['SystemPromptEvent', {}, 'system prompt'],
    ['CondensationRequest', {}, 'condensation of the history requested'],
    ['LLMCompletionLogEvent', {}, 'log of a completion'],
    ['SecurityAnalysisEvent', {}, 'risk'],
    ['MessageEvent', { llm_message: { content: [...text('a'), ...text('b')] } }, 'a …'],
    ['an action:name', { message: 'no' }, 'an action:name'],
    ['KindOfTheFuture', { anything: 1 }, 'KindOfTheFuture'],
  ])('%s %j reads %j', (kind, payload, line) => {
    expect(eventText(kind, payload)).toBe(line);
  });

  it('accepts members of any shape', () => {
    for (const wrong of [null, 1, 'x', [], {}]) {
      for (const kind of [
        'MessageEvent',
        'ActionEvent',
        'ObservationEvent',
        'ConversationStateUpdateEvent',
      ]) {
        const payload = {
          llm_message: wrong,
          action: wrong,
          observation: wrong,
          key: wrong,
          value: wrong,
        };
        expect(typeof eventText(kind, payload)).toBe('string');
      }
    }
  });
});

describe('the line of a V0 event', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['action:message', { args: { content: 'hello' } }, 'hello'],
    ['action:run', { args: { command: 'ls' } }, '$ ls'],
    ['action:finish', { args: { final_thought: 'done' } }, 'done'],
    ['action:finish', { message: 'All done!' }, 'All done!'],
    ['action:finish', {}, 'finished'],
    ['action:think', { args: { thought: 'why' } }, 'why'],
    ['action:system', { args: { content: 'You are an agent' } }, 'system prompt'],
    ['action:recall', { message: 'Retrieving content' }, 'Retrieving content'],
    [
      'observation:agent_state_changed',
      { extras: { agent_state: 'error', reason: 'STATUS$X' } },
      'error: STATUS$X',
    ],
    ['observation:agent_state_changed', { extras: { agent_state: 'running' } }, 'running'],
    ['observation:error', { content: 'no such file', message: 'other' }, 'error: no such file'],
    ['observation:read', { content: 'of a file' }, 'of a file'],
    [
      'observation:run',
      { message: 'Command `ls` executed with exit code 0.' },
      'Command `ls` executed with exit code 0.',
    ],
    ['observation:future', {}, 'future'],
    ['observation:of\ntwo lines', {}, 'of\ntwo lines'],
  ])('%s %j reads %j', (kind, payload, line) => {
    expect(eventText(kind, payload)).toBe(line);
  });
});

it.each([
  ['', ''],
  ['  one  ', 'one'],
  ['\n one \r\ntwo', 'one …'],
  ['x'.repeat(400), 'x'.repeat(400)],
  ['x'.repeat(401), `${'x'.repeat(400)}…`],
])(
  'firstLine returns the first line that is not empty, at most 400 characters of it',
  (text, line) => {
    expect(firstLine(text)).toBe(line);
  },
);

it('elapsed writes minutes and seconds, and hours from one hour on', () => {
  expect([0, 65_000, 3_600_000, -1].map(elapsed)).toEqual(['0:00', '1:05', '1:00:00', '0:00']);
});

it('actionIdOf is the id of the action that an observation answers, in either dialect', () => {
  const idOf = (payload: Record<string, unknown>) => actionIdOf({ payload });
  expect([idOf({ action_id: 'a-1' }), idOf({ cause: 7 }), idOf({})]).toEqual(['a-1', '7', null]);
});

it.each([
  ['ActionEvent', 'agent', 'done', { action: { kind: 'FinishAction' } }, 'finish', false],
  [
    'ActionEvent',
    'agent',
    '$ ls',
    { observation: { kind: 'FinishObservation' } },
    'command',
    false,
  ],
  ['ActionEvent', 'agent', 'open a page', {}, 'action', false],
  [
    'ObservationEvent',
    'environment',
    '',
    { observation: { kind: 'FinishObservation' } },
    'output',
    true,
  ],
  [
    'ObservationEvent',
    'environment',
    '',
    { observation: { kind: 'TerminalObservation' } },
    'output',
    false,
  ],
  ['ConversationStateUpdateEvent', 'environment', '', { key: 'execution_status' }, 'other', false],
  ['ConversationStateUpdateEvent', 'environment', '$ ', { key: 'stats' }, 'other', true],
  ['action:browse', 'agent', '', {}, 'action', false],
  ['action:browse', 'user', '', {}, 'other', false],
  ['observation:run', 'agent', '', {}, 'output', false],
  ['observation:null', 'agent', '', {}, 'output', true],
  ['MessageEvent', 'user', '', {}, 'message', false],
  ['MessageEvent', 'agent', '', {}, 'message', false],
  ['MessageEvent', 'environment', '', {}, 'other', false],
  ['MessageEvent', 'hook', '', {}, 'other', false],
  ['ConversationErrorEvent', 'environment', '', {}, 'error', false],
  ['ServerErrorEvent', 'environment', '', {}, 'error', false],
  ['AgentErrorEvent', 'agent', '', {}, 'error', false],
  ['ACPToolCallEvent', 'agent', '', {}, 'action', false],
  ['LLMCompletionLogEvent', 'environment', '', {}, 'other', true],
  ['SecurityAnalysisEvent', 'agent', '', { risks: { a: 'LOW' } }, 'other', true],
  ['SecurityAnalysisEvent', 'agent', '', { risks: { a: 'LOW', b: 'HIGH' } }, 'other', false],
  ['SecurityAnalysisEvent', 'agent', '', { risks: { a: 'MEDIUM' } }, 'other', false],
  [
    'SecurityAnalysisEvent',
    'agent',
    '',
    { risks: { a: 'HIGH' }, analyzer: 'LLMSecurityAnalyzer' },
    'other',
    true,
  ],
  ['action:message', 'user', '', {}, 'message', false],
  ['action:run', 'user', '', {}, 'command', false],
  ['action:finish', 'agent', '', {}, 'finish', false],
  ['action:system', 'agent', '', {}, 'other', false],
  ['action:recall', 'agent', '', {}, 'other', false],
  ['action:change_agent_state', 'agent', '', {}, 'other', false],
  ['observation:error', 'agent', '', {}, 'error', false],
  ['observation:recall', 'agent', '', {}, 'other', false],
] as const)(
  '%s by the %s with the text %j and %j has the shape %s, bookkeeping: %s',
  (kind, source, text, payload, ...is) => {
    expect([shapeOf({ kind, source, text, payload }), isBookkeeping({ kind, payload })]).toEqual(
      is,
    );
  },
);

it.each<[Record<string, unknown>, unknown[]]>([
  [{}, ['', '', '', null, false]],
  [
    { llm_message: { content: [...text('a'), ...text(''), ...text('b')] } },
    ['a\nb', '', '', null, false],
  ],
  [
    { action: { message: 'm' }, thought: [...text('a'), ...text('b')] },
    ['m', 'a b', '', null, false],
  ],
  [{ observation: { content: text('o'), exit_code: 0, is_error: true } }, ['o', '', '', 0, true]],
  [{ args: { final_thought: 'f', thought: 't', command: 'ls' } }, ['f', 't', 'ls', null, false]],
  [{ args: { content: 'c' }, action: { command: 'pwd' } }, ['c', '', 'pwd', null, false]],
  [{ content: 'c', extras: { metadata: { exit_code: 2 } } }, ['c', '', '', 2, false]],
  [{ observation: { exit_code: '2' } }, ['', '', '', null, false]],
])('the text, thought, command, exit code and error of %j are %j', (payload, members) => {
  const readers = [fullText, thoughtOf, commandOf, exitCodeOf, isErrorOf];
  expect(readers.map((read) => read({ payload }))).toEqual(members);
});

it.each([
  ['LOW', null],
  ['MEDIUM', 'medium'],
  ['high', 'high'],
  [undefined, null],
])('riskOf is the risk that is named at an event: %s is %s', (security_risk, risk) => {
  expect(riskOf({ payload: { security_risk } })).toBe(risk);
});

it('EVENT_KINDS are the kinds that have a text or a shape, each once', () => {
  expect(EVENT_KINDS).toEqual(
    expect.arrayContaining([...KINDS.split(/\s+/), 'observation:recall']),
  );
  expect(new Set(EVENT_KINDS).size).toBe(EVENT_KINDS.length);
});

it('statusWordOf is the status that an event of either dialect reports, and null for other events', () => {
  const payloads = [{ value: 'RUNNING' }, { extras: { agent_state: 'paused' } }];
  expect(payloads.map((payload) => statusWordOf({ signal: 'status:running', payload }))).toEqual([
    'running',
    'paused',
  ]);
  expect(statusWordOf({ signal: 'message', payload: { value: 'running' } })).toBeNull();
});
