import { describe, expect, it } from 'vitest';
import {
  actionIdOf,
  elapsed,
  eventTextV0,
  eventTextV1,
  firstLine,
  isRecord,
  textOf,
} from '../../src/domain/event-payload.ts';

const text = (value: string) => [{ type: 'text', text: value }];

describe('the line of a V1 event', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['MessageEvent', { llm_message: { content: text('first\nsecond') } }, 'first …'],
    [
      'MessageEvent',
      { llm_message: { content: [...text('look'), { type: 'image', image_urls: ['u'] }] } },
      'look [1 image]',
    ],
    ['ActionEvent', { action: { kind: 'TerminalAction', command: 'ls -la' } }, '$ ls -la'],
    ['ActionEvent', { action: { kind: 'FileEditorAction', command: 'create', path: '/w/a' } }, 'create /w/a'],
    ['ActionEvent', { action: { kind: 'FinishAction', message: 'done' } }, 'done'],
    ['ActionEvent', { action: { kind: 'BrowserAction' }, summary: 'open a page', tool_name: 'browser' }, 'open a page'],
    ['ActionEvent', { action: null, tool_name: 'terminal' }, 'terminal (not carried out)'],
    ['ObservationEvent', { tool_name: 'terminal', observation: { content: text('out'), exit_code: 3 } }, 'exit 3: out'],
    ['ObservationEvent', { tool_name: 'terminal', observation: { content: text('out'), exit_code: 0 } }, 'out'],
    ['ObservationEvent', { tool_name: 'think', observation: { content: [] } }, 'think: done'],
    ['AgentErrorEvent', { tool_name: 'terminal', error: 'broken' }, 'error in terminal: broken'],
    ['UserRejectObservation', { tool_name: 'terminal', rejection_reason: 'no' }, 'rejected terminal: no'],
    ['ConversationStateUpdateEvent', { key: 'execution_status', value: 'running' }, 'execution_status: running'],
    ['ConversationErrorEvent', { code: 'MaxIterationsReached', detail: 'limit' }, 'MaxIterationsReached: limit'],
    ['PauseEvent', {}, 'paused'],
    ['KindOfTheFuture', { anything: 1 }, 'KindOfTheFuture'],
  ])('%s %j reads %j', (kind, payload, line) => {
    expect(eventTextV1(kind, payload)).toBe(line);
  });

  it('accepts members of any shape', () => {
    for (const wrong of [null, 1, 'x', [], {}]) {
      for (const kind of ['MessageEvent', 'ActionEvent', 'ObservationEvent', 'ConversationStateUpdateEvent']) {
        const payload = { llm_message: wrong, action: wrong, observation: wrong, key: wrong, value: wrong };
        expect(typeof eventTextV1(kind, payload)).toBe('string');
      }
    }
  });

  it('is limited in length', () => {
    expect(eventTextV1('MessageEvent', { llm_message: { content: text('x'.repeat(10_000)) } }).length).toBeLessThan(
      500,
    );
  });
});

describe('the line of a V0 event', () => {
  it.each<[string | null, string | null, Record<string, unknown>, string]>([
    ['message', null, { args: { content: 'hello' } }, 'hello'],
    ['run', null, { args: { command: 'ls' } }, '$ ls'],
    ['finish', null, { args: { final_thought: 'done' } }, 'done'],
    ['recall', null, { message: 'Retrieving content' }, 'Retrieving content'],
    [null, 'agent_state_changed', { extras: { agent_state: 'error', reason: 'STATUS$X' } }, 'error: STATUS$X'],
    [null, 'run', { message: 'Command `ls` executed with exit code 0.' }, 'Command `ls` executed with exit code 0.'],
    [null, 'future', {}, 'future'],
  ])('%s %s %j reads %j', (action, observation, payload, line) => {
    expect(eventTextV0(action, observation, payload)).toBe(line);
  });
});

it.each([
  ['', ''],
  ['  one  ', 'one'],
  ['\n one \r\ntwo', 'one …'],
  ['x'.repeat(400), 'x'.repeat(400)],
  ['x'.repeat(401), `${'x'.repeat(400)}…`],
])('firstLine returns the first line that is not empty, at most 400 characters of it', (text, line) => {
  expect(firstLine(text)).toBe(line);
});

it('textOf returns the empty text for a value of another type', () => {
  expect([textOf('a'), textOf(1), textOf(null), textOf(['a'])]).toEqual(['a', '', '', '']);
});

it('isRecord returns true only for objects other than lists', () => {
  expect([isRecord({}), isRecord([]), isRecord(null), isRecord('a')]).toEqual([true, false, false, false]);
});

it('elapsed writes minutes and seconds, and hours from one hour on', () => {
  expect([0, 65_000, 3_725_000, -1].map(elapsed)).toEqual(['0:00', '1:05', '1:02:05', '0:00']);
});

it('actionIdOf is the id of the action that an observation answers, in either dialect', () => {
  const idOf = (payload: Record<string, unknown>) => actionIdOf({ payload });
  expect([idOf({ action_id: 'a-1' }), idOf({ cause: 7 }), idOf({})]).toEqual(['a-1', '7', null]);
});
