import { describe, expect, it } from 'vitest';
import { parseTrajectory, ReplayError } from '../../../../src/service/agents/replay/parse.ts';
import { parse, v0 } from './support.ts';

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
    ['[{"source":"agent","action":"browse","args":{}}]', 'event 1: the action "browse" cannot be replayed'],
    ['[{"source":"agent","action":"run","args":{}}]', 'event 1 (run): "command" must be a string and is missing'],
    ['[{"source":"agent","action":"run"}]', 'event 1: "args" must be an object and is missing'],
    ['[{"source":"agent","action":"run","args":{"command":5}}]', 'event 1 (run): "command" must be a string'],
    ['[{"source":"agent","action":"run","args":{"command":"x","timeout":-1}}]', '"timeout" must be a number'],
    ['[{"source":"agent","action":"edit","args":{"path":"a","content":"x","start":3,"end":4}}]', 'a range of lines'],
    ['[{"source":"agent","action":"edit","args":{"path":"a","command":"fly"}}]', 'unknown "command": fly'],
    ['[{"action":"read","args":{"path":"a","view_range":["x",{}]}}]', '"view_range" must hold two'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});
