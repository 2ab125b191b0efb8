import { expect, it } from 'vitest';
import { ReplayError } from '../../../../src/service/agents/replay/reading.ts';
import { readSteps } from '../../../../src/service/agents/replay/schema.ts';

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
  ['a negative timeout', [{ type: 'terminal', command: 'ls', timeout_seconds: -1 }], 'replay at 0.timeout_seconds: '],
  ['an unknown command of the editor', [{ type: 'edit', command: 'fly', path: 'a' }], 'replay at 0.command: '],
  ['half of a range', [{ type: 'edit', command: 'view', path: 'a', view_range: [1] }], 'replay at 0.view_range.1: '],
])('%s is refused with the position', (_, document, words) => {
  expect(() => readSteps(document)).toThrow(ReplayError);
  expect(() => readSteps(document)).toThrow(words);
});
