import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTrajectory } from '../../../../src/service/agents/replay/parse.ts';
import { ReplayError, readSteps } from '../../../../src/service/base/steps.ts';

function parse(document: unknown): ReturnType<typeof parseTrajectory> {
  return parseTrajectory(JSON.stringify(document));
}

function v0(action: string, args: Record<string, unknown>, source = 'agent') {
  return { id: 1, timestamp: '2026-01-31T10:00:00.000000', source, message: '', action, args };
}

function v1(action: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return {
    kind: 'ActionEvent',
    source: 'agent',
    thought: [{ type: 'text', text: 'why' }],
    action,
    ...more,
  };
}

const said = (source: string, text: string) => ({
  kind: 'MessageEvent',
  source,
  llm_message: { role: source, content: [{ type: 'text', text }] },
});

const examples = path.resolve(import.meta.dirname, '../../../../examples');

describe('the form of the file', () => {
  const list = [v1({ kind: 'FinishAction', message: 'end' })];

  it.each(['trajectory', 'history', 'events', 'items'])(
    'may be an object with the list as %s',
    (name) => {
      expect(parse({ [name]: list }).steps).toHaveLength(1);
    },
  );

  it('may be one event a line, with a byte order mark and empty lines', () => {
    const lines = [said('user', 'x'), ...list].map((event) => JSON.stringify(event)).join('\n\n');
    expect(parseTrajectory(`\uFEFF${lines}\n`).steps).toHaveLength(1);
  });
});

describe('events as acs prints them', () => {
  const printed = [said('user', 'x'), v1({ kind: 'FinishAction', message: 'end' })].map(
    (payload) => ({
      type: 'event',
      kind: payload.kind,
      text: 'a line',
      payload,
    }),
  );

  it('are parsed like the events of the server', () => {
    expect(parse({ items: printed, has_more: false })).toMatchObject({
      steps: [{ type: 'finish' }],
      user_message: 'x',
    });
  });

  it('may be between the lines of the start and the outcome', () => {
    const lines = [
      { type: 'started', id: 'a' },
      ...printed,
      { type: 'outcome', status: 'finished' },
    ];
    expect(
      parseTrajectory(lines.map((line) => JSON.stringify(line)).join('\n')).steps,
    ).toHaveLength(1);
  });
});

describe('a malformed trajectory is refused with the position of the error', () => {
  it.each([
    ['', 'the file is empty'],
    ['{"a":', 'not JSON'],
    ['{"a":1}', 'an array of events, or an object with one as trajectory'],
    ['"text"', 'a trajectory is an array of events'],
    ['[]', 'contains no agent action'],
    ['[1]', 'event 1: an object is expected'],
    ['[{"x":1}]', 'event 1: neither "kind" (V1) nor "action" or "observation" (V0) is there'],
    ['{"kind":"FinishAction","message":"x"}\n{"kind":', 'line 2: not JSON'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});

describe('the supplied trajectories', () => {
  it.each(readdirSync(examples).filter((name) => /\.v[01]\.json$/.test(name)))(
    '%s can be',
    (name) => {
      const { steps, user_message } = parseTrajectory(
        readFileSync(path.join(examples, name), 'utf8'),
      );
      expect(steps.at(-1)?.type).toBe('finish');
      expect(user_message).not.toBe(null);
      expect(readSteps(steps)).toEqual(steps);
    },
  );
});

describe('a trajectory of V0', () => {
  it('is parsed to the steps of its actions', () => {
    const { steps, user_message } = parse([
      v0('message', { content: 'Do it.' }, 'user'),
      { id: 2, source: 'environment', observation: 'agent_state_changed', content: '', extras: {} },
      v0('system', { content: 'You are …' }),
      v0('recall', { query: 'x' }, 'user'),
      v0('run', { command: 'ls', thought: 'look' }),
      { id: 3, source: 'agent', observation: 'run', content: 'a\n', extras: { exit_code: 0 } },
      v0('run', { command: 'ls', cwd: "it's here", timeout: 5, thought: '' }),
      v0('read', { path: 'a.txt', start: 0, end: -1 }),
      v0('read', { path: 'a.txt', start: 2, end: 4 }),
      v0('write', { path: 'a.txt', content: 'one' }),
      v0('edit', { path: 'a.txt', command: 'str_replace', old_str: 'one', new_str: 'two' }),
      v0('edit', { path: 'a.txt', command: 'insert', insert_line: 0, new_str: 'zero' }),
      v0('edit', { path: 'a.txt', content: 'whole', start: 1, end: -1 }),
      v0('think', { thought: 'hm' }),
      v0('message', { content: 'On my way.', wait_for_response: false }),
      v0('finish', { final_thought: 'Done.', outputs: {} }),
    ]);
    expect(user_message).toBe('Do it.');
    expect(steps).toMatchObject([
      { type: 'terminal', command: 'ls', thought: 'look' },
      { type: 'terminal', command: String.raw`cd 'it'\''s here' && ls`, timeout_seconds: 5 },
      { type: 'edit', command: 'view', path: 'a.txt' },
      { type: 'edit', command: 'view', view_range: [3, 4] },
      { type: 'edit', command: 'create', file_text: 'one' },
      { type: 'edit', command: 'str_replace', old_str: 'one', new_str: 'two' },
      { type: 'edit', command: 'insert', insert_line: 0, new_str: 'zero' },
      { type: 'edit', command: 'create', file_text: 'whole' },
      { type: 'message', text: 'On my way.', ends_turn: false },
      { type: 'finish', message: 'Done.' },
    ]);
  });
});

describe('a malformed event is refused with its position and the error', () => {
  it.each([
    [
      '[{"source":"agent","action":"run","args":{}}]',
      'event 1 (run): "command" must be a string and is missing',
    ],
    ['[{"source":"agent","action":"run"}]', 'event 1: "args" must be an object and is missing'],
    [
      '[{"source":"agent","action":"run","args":{"command":5}}]',
      'event 1 (run): "command" must be a string',
    ],
    [
      '[{"source":"agent","action":"run","args":{"command":"x","timeout":-1}}]',
      '"timeout" must be a number',
    ],
    [
      '[{"source":"agent","action":"run","args":{"command":"x","timeout":1e999}}]',
      '"timeout" must be a number',
    ],
    ['[{"source":"agent","action":"run","args":["x"]}]', 'event 1: "args" must be an object'],
    [
      '[{"source":"agent","action":"run","args":{"command":null}}]',
      'event 1 (run): "command" must be a string',
    ],
    [
      '[{"source":"agent","action":"edit","args":{"path":"a","content":"x","start":3,"end":4}}]',
      'a range of lines',
    ],
    [
      '[{"source":"agent","action":"edit","args":{"path":"a","command":"fly"}}]',
      'unknown "command": fly',
    ],
    ['[{"action":"read","args":{"path":"a","view_range":["x",{}]}}]', '"view_range" must hold two'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});

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
      '[{"kind":"FileEditorAction","command":"insert","path":"a","new_str":"x"}]',
      '"insert_line" must be a number',
    ],
    [
      '[{"kind":"FileEditorAction","command":"view","path":"a","view_range":[1]}]',
      '"view_range" must hold two',
    ],
    ['[{"kind":"MessageEvent","source":"agent"}]', 'holds no text'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});

it.each([
  ['browse', { source: 'agent', action: 'browse', args: {} }],
  ['MCPToolAction', { kind: 'ActionEvent', action: { kind: 'MCPToolAction', data: {} } }],
])('the action %s of another tool is left out by name', (name, event) => {
  const run = { source: 'agent', action: 'run', args: { command: 'ls' } };
  const { steps } = parseTrajectory(JSON.stringify([event, run]));
  const text = `The recorded action ${name} was left out of this replay.`;
  expect(steps).toMatchObject([
    { type: 'message', text, ends_turn: false },
    { type: 'terminal', command: 'ls' },
  ]);
});

it('steps get the members that may be left out, and lose those that are unknown', () => {
  expect(readSteps([{ type: 'terminal', command: 'ls', more: 1 }])).toEqual([
    { type: 'terminal', command: 'ls', is_input: false, reset: false, thought: '' },
  ]);
});

it.each<[string, unknown, string]>([
  ['no list', { steps: [] }, 'replay: Invalid type: Expected Array'],
  ['an empty list', [], 'replay: Invalid length'],
  ['a step of an unknown type', [{ type: 'browse', url: 'x' }], 'replay at 0.type: '],
  [
    'a command that is not text',
    [
      { type: 'think', thought: '' },
      { type: 'terminal', command: 7 },
    ],
    'replay at 1.command: ',
  ],
  [
    'a negative timeout',
    [{ type: 'terminal', command: 'ls', timeout_seconds: -1 }],
    'replay at 0.timeout_seconds: ',
  ],
  [
    'an unknown command of the editor',
    [{ type: 'edit', command: 'fly', path: 'a' }],
    'replay at 0.command: ',
  ],
  [
    'half of a range',
    [{ type: 'edit', command: 'view', path: 'a', view_range: [1] }],
    'replay at 0.view_range.1: ',
  ],
])('%s is refused with the position', (_, document, words) => {
  expect(() => readSteps(document)).toThrow(ReplayError);
  expect(() => readSteps(document)).toThrow(words);
});
