import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';
import {
  afterEvent,
  afterStanding,
  deletedOutcome,
  exitCodeOfStatus,
  judge,
  judgeFor,
  NO_EVIDENCE,
  type RunEvidence,
} from '../../src/domain/outcome.ts';

const conversation = (members: Partial<Conversation>): Conversation => ({
  id: 'c',
  start_task_id: null,
  title: null,
  status: 'idle',
  reason: null,
  waiting_for: null,
  dialect: 'v1',
  execution_status: null,
  sandbox_id: null,
  sandbox_status: null,
  repository: null,
  branch: null,
  git_provider: null,
  model: null,
  created_at: null,
  updated_at: null,
  cost_usd: null,
  tokens: null,
  url: null,
  ...members,
});

let count = 0;
const event = (kind: string, source: string, payload: Record<string, unknown> = {}): ConversationEvent => ({
  type: 'event',
  id: `e${(count += 1)}`,
  conversation_id: 'c',
  timestamp: null,
  source,
  kind,
  text: '',
  payload,
});
const message = () => event('MessageEvent', 'user');
const state = (value: string) =>
  event('ConversationStateUpdateEvent', 'environment', { key: 'execution_status', value });
const action = () => event('ActionEvent', 'agent');
const known = (...events: ConversationEvent[]): RunEvidence => events.reduce(afterEvent, NO_EVIDENCE);

describe('the outcome of a run', () => {
  it.each([
    ['finished', 0],
    ['failed', 1],
    ['stuck', 1],
    ['waiting', 8],
    ['paused', 6],
    ['stopped', 6],
    ['archived', 6],
  ] as const)('%s ends with %i', (status, code) => {
    expect(judge(conversation({ status }), NO_EVIDENCE)?.exit_code).toBe(code);
  });

  it.each(['starting', 'idle', 'running', 'unknown(no-status)', 'unknown(thinking)'] as const)(
    '%s is no end',
    (status) => {
      expect(judge(conversation({ status }), NO_EVIDENCE)).toBeNull();
    },
  );

  it('of a run that died with its sandbox is failed, whatever the last word was', () => {
    const dead = conversation({ status: 'failed', sandbox_status: 'error' });
    expect(judge(dead, known(message(), state('running')))?.exit_code).toBe(1);
    expect(judge(dead, known(message()))?.exit_code).toBe(1);
    expect(judge({ ...dead, sandbox_status: 'running' }, known(message()))).toBeNull();
  });

  it('is deleted with 5', () => {
    expect(deletedOutcome('c', NO_EVIDENCE)).toMatchObject({ status: 'deleted', exit_code: 5 });
  });

  it('tells the reason, the cost and the last event', () => {
    const reason = { code: 'LLMAuthenticationError', text: 'the key was refused' };
    const last = action();
    expect(judge(conversation({ status: 'failed', reason, cost_usd: 0.25 }), known(message(), last))).toEqual({
      type: 'outcome',
      conversation_id: 'c',
      status: 'failed',
      reason,
      waiting_for: null,
      exit_code: 1,
      cost_usd: 0.25,
      last_event_id: last.id,
    });
  });

  it('is that of V0 as well: an answer in text is finished although the agent awaits input', () => {
    expect(
      judge(conversation({ status: 'finished', waiting_for: 'user', dialect: 'v0' }), NO_EVIDENCE)?.exit_code,
    ).toBe(0);
  });
});

describe('idle', () => {
  it('is no end right after the start', () => {
    expect(judge(conversation({}), known(message(), state('idle')))).toBeNull();
  });

  it('waits for the user after a rejection', () => {
    const evidence = known(message(), action(), event('UserRejectObservation', 'environment'), state('idle'));
    expect(judge(conversation({}), evidence)).toMatchObject({
      exit_code: 8,
      waiting_for: 'user',
      reason: { code: 'rejected' },
    });
  });

  it('waits no more once a message followed the rejection', () => {
    const evidence = known(message(), event('UserRejectObservation', 'environment'), message(), state('idle'));
    expect(judge(conversation({}), evidence)).toBeNull();
  });

  it('waits for the user after a rejection over V0', () => {
    const rejected = event('observation:agent_state_changed', 'environment', {
      extras: { agent_state: 'user_rejected' },
    });
    expect(judge(conversation({}), known(event('action:message', 'user'), rejected))).toMatchObject({ exit_code: 8 });
    // As release 1.6.0 tells it: the action again, the state, the observation in the name of the agent.
    const observation = event('observation:user_rejected', 'agent');
    const inputWanted = event('observation:agent_state_changed', 'environment', {
      extras: { agent_state: 'awaiting_user_input' },
    });
    const story = [event('action:message', 'user'), event('action:run', 'agent'), rejected, observation, inputWanted];
    expect(judge(conversation({}), known(...story))).toMatchObject({ exit_code: 8 });
  });
});

describe('an agent of V0 that stands still for a word of its user', () => {
  const agentState = (agent_state: string) =>
    event('observation:agent_state_changed', 'environment', { extras: { agent_state } });
  const woken = [agentState('stopped'), agentState('loading'), agentState('awaiting_user_input')];
  const said = event('action:message', 'user');

  it('has ended with 8 once it stood so for a while, and not at once', () => {
    const evidence = known(said, agentState('running'), event('action:run', 'agent'), ...woken);
    expect(judge(conversation({}), evidence)).toBeNull();
    expect(judge(conversation({}), afterStanding(evidence))).toMatchObject({ exit_code: 8, waiting_for: 'user' });
  });

  it('has not ended while it was never asked anything, or has been asked again', () => {
    for (const evidence of [known(agentState('loading'), ...woken), known(said, ...woken, said)])
      expect(judge(conversation({}), afterStanding(evidence))).toBeNull();
    const again = known(said, ...woken, said, agentState('running'));
    expect(judge(conversation({}), afterStanding(again))).toBeNull();
  });
});

describe('a state that is older than the latest message', () => {
  it('does not count', () => {
    const before = known(message(), action(), state('finished'));
    expect(judge(conversation({ status: 'finished' }), before)?.exit_code).toBe(0);
    expect(judge(conversation({ status: 'finished' }), afterEvent(before, message()))).toBeNull();
  });

  it('does not count while the events say that the agent runs', () => {
    const evidence = known(message(), action(), state('finished'), message(), state('running'));
    expect(judge(conversation({ status: 'failed' }), evidence)).toBeNull();
    expect(judge(conversation({ status: 'finished' }), afterEvent(evidence, state('finished')))?.exit_code).toBe(0);
  });

  it('counts when the sandbox is gone, because nothing can change any more', () => {
    expect(judge(conversation({ status: 'archived' }), known(message()))?.exit_code).toBe(6);
  });
});

describe('waiting for a state', () => {
  it('ends well in it', () => {
    expect(judgeFor(conversation({ status: 'running' }), NO_EVIDENCE, ['running', 'finished'])).toMatchObject({
      status: 'running',
      exit_code: 0,
    });
  });

  it('ends at once when it can no longer come', () => {
    expect(judgeFor(conversation({ status: 'failed' }), NO_EVIDENCE, ['finished'])?.exit_code).toBe(1);
    expect(judgeFor(conversation({ status: 'finished' }), NO_EVIDENCE, ['running'])).toMatchObject({
      exit_code: 6,
      reason: { code: 'not-reached' },
    });
  });

  it('goes on while it can still come', () => {
    expect(judgeFor(conversation({ status: 'paused' }), NO_EVIDENCE, ['finished'])).toBeNull();
    expect(judgeFor(conversation({ status: 'finished' }), NO_EVIDENCE, ['archived'])).toBeNull();
    expect(judgeFor(conversation({ status: 'idle' }), NO_EVIDENCE, ['running'])).toBeNull();
  });
});

describe('the exit code of a state that was looked at', () => {
  it.each([
    ['finished', 0],
    ['failed', 1],
    ['running', 6],
    ['starting', 6],
    ['paused', 6],
    ['waiting', 8],
    ['idle', 8],
    ['unknown(thinking)', 6],
  ] as const)('%s is %i', (status, code) => {
    expect(exitCodeOfStatus(conversation({ status }))).toBe(code);
  });
});
