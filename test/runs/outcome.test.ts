import { describe, expect, it } from 'vitest';
import { blankConversation, type Conversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import {
  NO_EVIDENCE,
  afterEvent,
  withoutContradiction,
  deletedOutcome,
  isOfLatestRun,
  judge,
  judgeFor,
  outcomeOf,
  type RunEvidence,
} from '../../src/runs/outcome.ts';
import { conversationEvent } from './support/event.ts';

const conversation = (members: Partial<Conversation>): Conversation => ({
  ...blankConversation('c', 'idle'),
  ...members,
});

let count = 0;
const event = (signal: RunSignal | null): ConversationEvent => conversationEvent(`e${(count += 1)}`, { signal });
const message = () => event('message');
const running = () => event('status:running');
const ended = () => event('status:other');
const action = () => event('activity');
const known = (...events: ConversationEvent[]): RunEvidence => events.reduce(afterEvent, NO_EVIDENCE);

describe('the outcome of a run', () => {
  it.each([
    ['finished', 0, null],
    ['failed', 1, { code: 'failed', text: 'the server gives no reason' }],
    ['stuck', 1, { code: 'stuck', text: 'the agent did the same step again and again' }],
    ['waiting', 8, { code: 'confirmation', text: 'the agent waits for a confirmation' }],
    ['paused', 6, { code: 'paused', text: 'the run was paused before its end' }],
    ['stopped', 6, { code: 'stopped', text: 'the run was stopped before its end' }],
    ['archived', 6, { code: 'archived', text: 'the sandbox is gone, and the run had not ended' }],
  ] as const)('%s ends with %i and a reason', (status, code, reason) => {
    expect(judge(conversation({ status }), NO_EVIDENCE)).toMatchObject({ exit_code: code, reason });
  });

  it.each([
    [null, 'confirmation'],
    ['user', 'user'],
  ] as const)('of a run that is waiting names what it waits for: %s is %s', (waiting_for, then) => {
    expect(judge(conversation({ status: 'waiting', waiting_for }), NO_EVIDENCE)?.waiting_for).toBe(then);
  });

  it.each(['starting', 'idle', 'running', 'unknown(no-status)', 'unknown(thinking)'] as const)(
    '%s does not end the run',
    (status) => {
      expect(judge(conversation({ status }), NO_EVIDENCE)).toBeNull();
    },
  );

  it('of a run whose sandbox is in error is failed, whatever the last status was', () => {
    const dead = conversation({ status: 'failed', sandbox_status: 'error' });
    expect(judge(dead, known(message(), running()))?.exit_code).toBe(1);
    expect(judge(dead, known(message()))?.exit_code).toBe(1);
    expect(judge({ ...dead, sandbox_status: 'running' }, known(message()))).toBeNull();
    expect(judge({ ...dead, status: 'finished' }, known(message()))).toBeNull();
  });

  it('is deleted with 5', () => {
    expect(deletedOutcome('c', { ...NO_EVIDENCE, last_event_id: 'e' })).toEqual({
      type: 'outcome',
      conversation_id: 'c',
      status: 'deleted',
      reason: { code: 'deleted', text: 'the conversation was deleted' },
      waiting_for: null,
      exit_code: 5,
      cost_usd: null,
      last_event_id: 'e',
    });
  });

  it('of a run that may continue has the record, and the exit code and the reason that are given', () => {
    const reason = { code: 'timeout', text: 'too late' };
    const open = conversation({ status: 'waiting', waiting_for: 'confirmation', cost_usd: 2 });
    expect(outcomeOf(open, { ...NO_EVIDENCE, last_event_id: 'e' }, 124, reason)).toEqual({
      type: 'outcome',
      conversation_id: 'c',
      status: 'waiting',
      reason,
      waiting_for: 'confirmation',
      exit_code: 124,
      cost_usd: 2,
      last_event_id: 'e',
    });
  });

  it('has the reason, the cost and the last event', () => {
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

  it('over V0 is finished after an answer in text, although the agent awaits input', () => {
    expect(
      judge(conversation({ status: 'finished', waiting_for: 'user', dialect: 'v0' }), NO_EVIDENCE)?.exit_code,
    ).toBe(0);
  });
});

describe('idle', () => {
  it('does not end a run right after the start', () => {
    expect(judge(conversation({}), known(message(), ended()))).toBeNull();
  });

  it('waits for the user after a rejection', () => {
    const evidence = known(message(), action(), event('rejection'), ended());
    expect(judge(conversation({}), evidence)).toMatchObject({
      exit_code: 8,
      waiting_for: 'user',
      reason: { code: 'rejected', text: 'an action was rejected; the agent waits for a message' },
    });
  });

  it('does not wait for the user once a message has followed the rejection', () => {
    const evidence = known(message(), event('rejection'), message(), ended());
    expect(judge(conversation({}), evidence)).toBeNull();
  });

  it('waits for the user after a rejection over V0, as release 1.6.0 reports it', () => {
    expect(judge(conversation({}), known(message(), event('status:rejected')))).toMatchObject({ exit_code: 8 });
    const reported = [action(), event('status:rejected'), event('rejection'), event('status:awaiting-user')];
    expect(judge(conversation({}), known(message(), ...reported))).toMatchObject({ exit_code: 8 });
  });
});

describe('an agent that awaits the user without an answer of its own', () => {
  const started = [event('status:other'), event('status:starting'), event('status:awaiting-user')];
  const said = message();

  it('has ended with 8 once that was stable, and not at once', () => {
    const evidence = known(said, running(), action(), ...started);
    expect(judge(conversation({}), evidence)).toBeNull();
    expect(judge(conversation({}), withoutContradiction(evidence))).toMatchObject({
      exit_code: 8,
      waiting_for: 'user',
      reason: { code: 'awaiting-user', text: 'the agent stopped without an answer and waits for a message' },
    });
  });

  it('has not ended without a user message, or after a further one', () => {
    for (const evidence of [known(event('status:starting'), ...started), known(said, ...started, said)])
      expect(judge(conversation({}), withoutContradiction(evidence))).toBeNull();
    expect(judge(conversation({}), withoutContradiction(known(said, ...started, said, running())))).toBeNull();
  });
});

describe('a state that is older than the latest message', () => {
  it('does not count', () => {
    const before = known(message(), action(), ended());
    expect(judge(conversation({ status: 'finished' }), before)?.exit_code).toBe(0);
    expect(judge(conversation({ status: 'finished' }), afterEvent(before, message()))).toBeNull();
  });

  it('does not count while the events say that the agent runs', () => {
    const evidence = known(message(), action(), ended(), message(), running());
    expect(judge(conversation({ status: 'failed' }), evidence)).toBeNull();
    expect(judge(conversation({ status: 'finished' }), afterEvent(evidence, ended()))?.exit_code).toBe(0);
  });

  it('counts when the sandbox is gone, because nothing can change any more', () => {
    expect(judge(conversation({ status: 'archived' }), known(message()))?.exit_code).toBe(6);
  });
});

describe('waiting for a state', () => {
  it('ends with exit code 0 in it', () => {
    expect(judgeFor(conversation({ status: 'running' }), NO_EVIDENCE, ['running', 'finished'])).toMatchObject({
      status: 'running',
      exit_code: 0,
    });
  });

  it('ends when the record and the events agree that the run is in progress', () => {
    const evidence = known(message(), running());
    expect(judgeFor(conversation({ status: 'running' }), evidence, ['running'])?.exit_code).toBe(0);
    expect(judgeFor(conversation({ status: 'finished' }), evidence, ['finished'])).toBeNull();
  });

  it('ends at once when it can no longer be reached', () => {
    expect(judgeFor(conversation({ status: 'failed' }), NO_EVIDENCE, ['finished'])?.exit_code).toBe(1);
    expect(judgeFor(conversation({ status: 'finished' }), NO_EVIDENCE, ['running'])).toMatchObject({
      exit_code: 6,
      reason: { code: 'not-reached', text: 'the run is finished and will not be running' },
    });
    const reason = { code: 'LLMAuthenticationError', text: 'the key was refused' };
    const failed = conversation({ status: 'failed', reason });
    expect(judgeFor(failed, NO_EVIDENCE, ['finished', 'waiting'])?.reason).toEqual(reason);
  });

  it.each(['finished', 'failed', 'stuck', 'stopped', 'archived'] as const)(
    'ends at once when the run is %s',
    (status) => {
      expect(judgeFor(conversation({ status }), NO_EVIDENCE, ['running', 'waiting'])?.reason).toMatchObject({
        text: `the run is ${status} and will not be running or waiting`,
      });
    },
  );

  it('continues while it can still be reached', () => {
    expect(judgeFor(conversation({ status: 'paused' }), NO_EVIDENCE, ['finished'])).toBeNull();
    expect(judgeFor(conversation({ status: 'finished' }), NO_EVIDENCE, ['archived'])).toBeNull();
    expect(judgeFor(conversation({ status: 'idle' }), NO_EVIDENCE, ['running'])).toBeNull();
    expect(judgeFor(conversation({ status: 'waiting' }), NO_EVIDENCE, ['finished'])).toBeNull();
    expect(judgeFor(conversation({ status: 'stopped' }), NO_EVIDENCE, ['archived'])).toBeNull();
  });

  it('continues while the status may be that of the run before', () => {
    expect(judgeFor(conversation({ status: 'finished' }), known(message()), ['running'])).toBeNull();
  });
});

describe('a status', () => {
  it.each([
    ['running', true],
    ['starting', true],
    ['finished', false],
    ['idle', false],
    ['archived', true],
  ] as const)('right after a message is of the latest run when it is %s: %s', (status, is) => {
    expect(isOfLatestRun(conversation({ status }), known(message()))).toBe(is);
    expect(isOfLatestRun(conversation({ status }), NO_EVIDENCE)).toBe(true);
  });
});
