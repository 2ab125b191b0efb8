import { describe, expect, it } from 'vitest';
import { eventTextV0, eventTextV1 } from '../../src/domain/event-text.ts';

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
