import { describe, expect, it } from 'vitest';
import type { V0Event } from '../../../../src/service/app/v0-events/event.ts';
import { createTranslator } from '../../../../src/service/app/v0-events/translate.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

function event(kind: string, members: object = {}): StoredEvent {
  return { id: 'event', timestamp: '2026-01-01T00:00:00.000000', source: 'agent', kind, ...members };
}
const status = (value: unknown): StoredEvent =>
  event('ConversationStateUpdateEvent', { key: 'execution_status', value });
const said = (source: string, text: string): StoredEvent =>
  event('MessageEvent', { source, llm_message: { content: [{ type: 'text', text }] } });
const call = (id: string, source = 'agent'): StoredEvent =>
  event('ActionEvent', { id, source, tool_call_id: `call-${id}`, action: { kind: 'TerminalAction', command: 'ls' } });

function translated(...events: StoredEvent[]): V0Event[] {
  const translator = createTranslator();
  return events.flatMap((each, index) => translator.take(each, events[index + 1]));
}

const named = (events: V0Event[]): unknown[] =>
  events.map(({ action, observation, extras }) => action ?? (extras?.agent_state as string | undefined) ?? observation);

describe('a log as V0 shows it', () => {
  it('begins with the state loading, and numbers its events without a gap', () => {
    const events = translated(event('SystemPromptEvent'), event('UnknownEvent'), said('user', 'hi'));
    expect(named(events)).toEqual(['loading', 'system', 'message']);
    expect(events.map(({ id }) => id)).toEqual([0, 1, 2]);
  });

  it('names a state only when it changes', () => {
    const events = translated(status('running'), status('running'), status('idle'), status('paused'), status(5));
    expect(named(events)).toEqual(['loading', 'running', 'paused']);
    const full = event('ConversationStateUpdateEvent', { key: 'full_state', value: { execution_status: 'running' } });
    expect(named(translated(full, status('running')))).toEqual(['loading', 'running']);
  });

  it('waits for the user after an answer, and has finished after an action', () => {
    expect(named(translated(status('running'), said('agent', 'an answer'), status('finished'))).at(-1)).toBe(
      'awaiting_user_input',
    );
    expect(named(translated(said('agent', 'first'), call('a'), status('finished'))).at(-1)).toBe('finished');
    expect(named(translated(said('agent', 'first'), call('a', 'user'), status('finished'))).at(-1)).toBe(
      'awaiting_user_input',
    );
  });

  it('has the reason of a failure from the event behind it', () => {
    const failure = event('ConversationErrorEvent', { code: 'LLMError', detail: 'no model' });
    const reasons = [
      translated(status('error'), failure),
      translated(status('error')),
      translated(status('stuck')),
      translated(status('error'), event('ConversationErrorEvent', { code: '', detail: 'only this' })),
    ].map((events) => events.at(-1)?.extras?.reason);
    expect(reasons).toEqual([
      'LLMError: no model',
      '',
      'AgentStuckInLoopError: Agent got stuck in a loop',
      'only this',
    ]);
  });

  it('connects an observation, an error and a rejection with their action, by its id or its call', () => {
    const seen = { observation: { kind: 'TerminalObservation' } };
    const events = translated(
      call('a'),
      call('b'),
      event('ObservationEvent', { action_id: 'b', ...seen }),
      event('AgentErrorEvent', { tool_call_id: 'call-a', error: 'failed' }),
      event('ObservationEvent', { action_id: 'unknown', ...seen }),
      event('UserRejectObservation', { action_id: 'a', rejection_reason: '' }),
    );
    expect(named(events).slice(3)).toEqual([
      'run',
      'error',
      'run',
      'user_rejected',
      'user_rejected',
      'awaiting_user_input',
    ]);
    expect(events.slice(3).map(({ cause }) => cause)).toEqual([2, 1, undefined, undefined, 1, undefined]);
    expect(events.at(-2)?.content).toBe('The user rejected the action.');
  });

  it('shows the images of a message of the user, and waits for an answer to one of the agent', () => {
    const blocks = [{ type: 'image', image_urls: ['data:,x'] }, { type: 'text', text: 'see' }, null];
    const [, mine, its] = translated(
      event('MessageEvent', { source: 'user', llm_message: { content: blocks } }),
      said('agent', 'seen'),
    );
    expect(mine).toMatchObject({
      source: 'user',
      args: { content: 'see', image_urls: ['data:,x'], wait_for_response: false },
    });
    expect(its).toMatchObject({
      source: 'agent',
      args: { content: 'seen', image_urls: null, wait_for_response: true },
    });
  });
});
