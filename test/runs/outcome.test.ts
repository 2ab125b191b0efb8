import { describe, expect, it } from 'vitest';
import {
  blankConversation,
  type Conversation,
  type ConversationStatus,
} from '../../src/domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import { AppError } from '../../src/base/errors.ts';
import {
  NO_EVENTS,
  NOT_READ,
  afterEvent,
  beforeRun,
  deadlinePassed,
  deadlinePassedUnanswered,
  deletedOutcome,
  interruption,
  isOfLatestRun,
  judge,
  noEvents,
  outcomeOf,
  staysWaiting,
  worstCode,
  type EventSummary,
} from '../../src/runs/outcome.ts';
import { conversationEvent } from './support/source.ts';

const conversation = (members: Partial<Conversation>): Conversation => ({
  ...blankConversation('c', 'idle'),
  ...members,
});

/** Each word is the signal of an event; a word without a meaning of its own is a status. */
function known(words: string): EventSummary {
  const signals = words.split(' ').filter((word) => word !== '');
  return signals.reduce((summary, word, index) => {
    const isPlain = ['message', 'activity', 'rejection'].includes(word);
    const signal = (isPlain ? word : `status:${word}`) as RunSignal;
    return afterEvent(summary, conversationEvent(`e${index}`, { signal }));
  }, NO_EVENTS);
}

describe('how a record is judged', () => {
  const judged = (
    words: string,
    events: string,
    options: Parameters<typeof judge>[2] = {},
  ): string => {
    const [status, sandbox] = words.split(' in ') as [
      ConversationStatus,
      Conversation['sandbox_status'] | undefined,
    ];
    const { shown, outcome } = judge(
      conversation({ status, sandbox_status: sandbox ?? null }),
      known(events),
      options,
    );
    if (outcome === null) return shown;
    const { exit_code, reason } = outcome;
    return [shown, exit_code, ...(reason === null ? [] : [`${reason.code}: ${reason.text}`])].join(
      ' ',
    );
  };

  it.each([
    // An end, and its reason where the record has none.
    ['finished', '', 'end 0'],
    ['failed', '', 'end 1 failed: the server gives no reason'],
    ['stuck', '', 'end 1 stuck: the agent did the same step again and again'],
    ['waiting', '', 'end 8 confirmation: the agent waits for a confirmation'],
    ['paused', '', 'end 6 paused: the run was paused before its end'],
    ['stopped', '', 'end 6 stopped: the run was stopped before its end'],
    ['archived', '', 'end 6 archived: the sandbox is gone, and the run had not ended'],
    ['starting', '', 'open'],
    ['idle', '', 'open'],
    ['running', '', 'open'],
    ['unknown(no-status)', '', 'open'],
    ['unknown(thinking)', '', 'open'],
    // Idle: a new conversation has it too.
    ['idle', 'message other', 'open'],
    [
      'idle',
      'message activity rejection other',
      'end 8 rejected: an action was rejected; the agent waits for a message',
    ],
    ['idle', 'message rejection message other', 'open'],
    ['idle', 'message rejection running', 'open'],
    ['idle', 'message running', 'open'],
    [
      'idle',
      'message rejected',
      'end 8 rejected: an action was rejected; the agent waits for a message',
    ],
    // As release 1.6.0 reports a rejection over V0.
    [
      'idle',
      'message activity rejected rejection awaiting-user',
      'end 8 rejected: an action was rejected; the agent waits for a message',
    ],
    // An agent that awaits the user without an answer of its own may still start.
    [
      'idle',
      'message running activity other starting awaiting-user',
      'contradicted 8 awaiting-user: the agent stopped without an answer and waits for a message',
    ],
    ['idle', 'starting other starting awaiting-user', 'open'],
    ['idle', 'message other starting awaiting-user message', 'open'],
    ['idle', 'message other starting awaiting-user message running', 'open'],
    // A status that is older than the latest message, or than the start of the agent on it.
    ['finished', 'message activity other', 'end 0'],
    ['finished', 'message activity other message', 'contradicted 0'],
    [
      'failed',
      'message activity other message running',
      'contradicted 1 failed: the server gives no reason',
    ],
    ['finished', 'message activity other message running other', 'end 0'],
    ['running', 'message running', 'open'],
    // A sandbox that has failed or is gone has no newer status.
    ['archived', 'message', 'end 6 archived: the sandbox is gone, and the run had not ended'],
    ['failed in error', 'message', 'end 1 failed: the server gives no reason'],
    ['failed in error', 'message running', 'end 1 failed: the server gives no reason'],
    ['failed in running', 'message', 'contradicted 1 failed: the server gives no reason'],
    ['finished in error', 'message', 'contradicted 0'],
  ])('%s after the events "%s" is: %s', (record, events, expected) => {
    expect(judged(record, events)).toBe(expected);
  });

  it.each([
    ['running', '', 'running finished', 'end 0'],
    ['running', 'message running', 'running', 'end 0'],
    ['finished', 'message running', 'finished', 'contradicted 0'],
    [
      'finished',
      'message running',
      'paused',
      'contradicted 6 not-reached: the run is finished and will not be paused',
    ],
    ['finished', 'message running', 'archived', 'open'],
    [
      'finished',
      'message',
      'running',
      'contradicted 6 not-reached: the run is finished and will not be running',
    ],
    ['failed', '', 'finished', 'end 1 not-reached: the run is failed and will not be finished'],
    [
      'finished',
      '',
      'running waiting',
      'end 6 not-reached: the run is finished and will not be running or waiting',
    ],
    ['stuck', '', 'running', 'end 1 not-reached: the run is stuck and will not be running'],
    ['stopped', '', 'running', 'end 6 not-reached: the run is stopped and will not be running'],
    ['archived', '', 'running', 'end 6 not-reached: the run is archived and will not be running'],
    ['paused', '', 'finished', 'open'],
    ['finished', '', 'archived', 'open'],
    ['stopped', '', 'archived', 'open'],
    ['idle', '', 'running', 'open'],
    ['waiting', '', 'finished', 'open'],
  ])('%s after the events "%s" is for a wait for %s: %s', (record, events, wanted, expected) => {
    expect(judged(record, events, { wanted: wanted.split(' ') })).toBe(expected);
  });

  it.each([
    ['finished in running', 'message', 'open'],
    ['finished in running', 'message running', 'contradicted 0'],
    ['finished in paused', 'message', 'contradicted 0'],
  ])('%s after "%s" is, in a run that the command has started: %s', (record, events, expected) => {
    expect(judged(record, events, { startedAfter: null, wanted: ['finished'] })).toBe(expected);
  });
});

describe('the outcome of a run', () => {
  const reason = { code: 'LLMAuthenticationError', text: 'the key was refused' };

  it('has the reason and the cost of the record, and the last event', () => {
    const failed = conversation({ status: 'failed', reason, cost_usd: 0.25 });
    const expected = {
      type: 'outcome',
      conversation_id: 'c',
      status: 'failed',
      reason,
      waiting_for: null,
      exit_code: 1,
      cost_usd: 0.25,
      last_event_id: 'e1',
    };
    expect(judge(failed, known('message activity')).outcome).toEqual(expected);
    expect(judge(failed, known('message activity'), { wanted: ['finished'] }).outcome).toEqual(
      expected,
    );
    expect(outcomeOf(failed, known('message'), 124, null)).toEqual({
      ...expected,
      reason: null,
      exit_code: 124,
      last_event_id: 'e0',
    });
  });

  it.each([
    ['waiting', null, '', 'confirmation'],
    // Over V0: after an answer in text the agent awaits input.
    ['finished', 'user', '', null],
    ['idle', null, 'message rejection', 'user'],
    ['idle', null, 'message other starting awaiting-user', 'user'],
  ] as const)(
    'of a run that is %s and waits for %s after "%s" names: %s',
    (status, waiting_for, events, expected) => {
      expect(judge(conversation({ status, waiting_for }), known(events)).outcome?.waiting_for).toBe(
        expected,
      );
    },
  );

  it('of a conversation that was deleted is 5', () => {
    expect(deletedOutcome('c', known('message'))).toMatchObject({
      conversation_id: 'c',
      status: 'deleted',
      reason: { code: 'deleted', text: 'the conversation was deleted' },
      exit_code: 5,
      last_event_id: 'e0',
    });
  });

  it.each([
    ['running', true],
    ['starting', true],
    ['finished', false],
    ['idle', false],
    ['archived', true],
  ] as const)('may be that of a status right after a message when it is %s: %s', (status, is) => {
    expect(isOfLatestRun(conversation({ status }), known('message'))).toBe(is);
    expect(isOfLatestRun(conversation({ status }), NO_EVENTS)).toBe(true);
  });
});

describe('the worst exit code of several runs', () => {
  it('is that of a signal, 124, one that no run ends with, 1, 5, 6, 8, and 0', () => {
    const fromWorst = [130, 124, 10, 1, 5, 6, 8, 0];
    fromWorst.forEach((code, index) => {
      const others = fromWorst.slice(index);
      expect([worstCode(others), worstCode(others.toReversed())]).toEqual([code, code]);
    });
  });

  it('is the first of two that are as bad, and 0 for no run', () => {
    expect([worstCode([10, 4]), worstCode([4, 10]), worstCode([130, 143]), worstCode([])]).toEqual([
      10, 4, 130, 0,
    ]);
  });
});

describe('the summary after an event', () => {
  const none: EventSummary = { ...NO_EVENTS, last_event_id: 'old', since_message: 'none' };
  const all: EventSummary = { ...none, rejected: true, in_progress: true, awaits_user: true };
  const after = (before: EventSummary, signal: RunSignal | null): string => {
    const { last_event_id, since_message, ...flags } = afterEvent(
      before,
      conversationEvent('new', { signal }),
    );
    const set = Object.entries(flags).flatMap(([name, is]) => (is ? [name] : []));
    return [last_event_id, since_message, ...set].join(' ');
  };

  // What it makes of a summary in which every member is set, and of one in which none is.
  it.each<[RunSignal | null, string, string]>([
    ['message', 'none', 'none'],
    ['activity', 'some in_progress awaits_user', 'some'],
    ['rejection', 'some rejected in_progress awaits_user', 'some rejected'],
    ['status:running', 'some in_progress', 'some in_progress'],
    ['status:starting', 'some rejected in_progress', 'some in_progress'],
    ['status:rejected', 'some rejected', 'some rejected'],
    ['status:awaiting-user', 'some rejected awaits_user', 'some awaits_user'],
    ['status:other', 'some rejected', 'some'],
    [null, 'none rejected in_progress awaits_user', 'none'],
  ])('with the signal %s is %s, or %s', (signal, ofAll, ofNone) => {
    expect([after(all, signal), after(none, signal)]).toEqual([`new ${ofAll}`, `new ${ofNone}`]);
  });

  it('of an agent without a message is not that it awaits the user', () => {
    const unknown: EventSummary = { ...all, since_message: 'unknown' };
    expect(after(unknown, 'status:awaiting-user')).toBe('new unknown rejected');
    expect(after(unknown, 'message')).toBe('new none');
    expect(after(unknown, null)).toBe('new unknown rejected in_progress awaits_user');
  });

  it('before a run that the command has started has no event since', () => {
    expect(beforeRun('old')).toEqual({ ...NO_EVENTS, last_event_id: 'old', since_message: 'none' });
    expect(NO_EVENTS).toMatchObject({ last_event_id: null, since_message: 'unknown' });
  });
});

const ID = '0123456789abcdef0123456789abcdef';
const running = blankConversation(ID, 'running');
const followAndStop = `follow it: acs conv follow ${ID}\nstop it: acs conv stop ${ID}`;
const show = `see its status: acs conv show ${ID}`;
const signal = (exitCode = 130) =>
  new AppError('interrupted', 'interrupted by SIGINT', { exitCode, server: 'http://127.0.0.1:9' });

describe('a command that leaves a run', () => {
  it.each([
    ['running', 'continues', `stop it: acs conv stop ${ID}`],
    ['paused', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['stopped', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['idle', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['waiting', 'does not change by itself', `answer it: acs conv confirm ${ID}`],
  ] as const)('that is %s prints that it %s, and the next command', (status, future, end) => {
    const conversation = blankConversation(ID, status);
    const hint = `follow it: acs conv follow ${ID}\n${end}`;
    expect(deadlinePassed(conversation, 60_000)).toMatchObject({
      kind: 'timeout',
      message: `conversation ${ID} is still ${status} after 1m; it ${future}`,
      details: { hint, data: { reason: 'timeout', id: ID, last_status: status } },
    });
    expect(interruption(signal(), conversation)).toMatchObject({
      kind: 'interrupted',
      message: `interrupted by SIGINT; conversation ${ID} (${status}) ${future}`,
      details: { hint, data: { reason: 'interrupted', id: ID, last_status: status } },
    });
  });

  it.each(['finished', 'failed', 'stuck'] as const)(
    'that is %s prints that it has ended',
    (status) => {
      const conversation = blankConversation(ID, status);
      expect(deadlinePassed(conversation, 60_000)).toMatchObject({
        message: `conversation ${ID} is still ${status} after 1m; it has ended`,
        details: { hint: show },
      });
      expect(interruption(signal(), conversation)).toMatchObject({
        message: `interrupted by SIGINT; conversation ${ID} (${status}) has ended`,
        details: { hint: show },
      });
    },
  );

  it('whose status was not read prints that there was none', () => {
    expect(deadlinePassed(blankConversation(ID, NOT_READ), 60_000)).toMatchObject({
      message: `after 1m conversation ${ID} shows no status of the requested run`,
      details: { hint: followAndStop, data: { last_status: 'unknown(not-read)' } },
    });
    const { exitCode, message, details } = interruption(
      signal(143),
      blankConversation(ID, NOT_READ),
    );
    expect([exitCode, message]).toEqual([
      143,
      `interrupted by SIGINT; conversation ${ID} continues`,
    ]);
    expect(details).toMatchObject({ hint: followAndStop, server: 'http://127.0.0.1:9' });
    expect(details.data).toEqual({ reason: 'interrupted', id: ID });
  });

  it('prints the last status that is known when the server does not answer before the deadline', () => {
    const details = { hint: show, data: { reason: 'timeout', id: ID, last_status: 'running' } };
    const known = `the last known status of conversation ${ID} is running`;
    expect(deadlinePassedUnanswered(running, 60_000)).toMatchObject({
      kind: 'timeout',
      message: `the server did not answer within 1m; ${known}`,
      details,
    });
  });

  it('prints the last event of a run without events', () => {
    const last = { text: 'ls -l' } as ConversationEvent;
    expect(noEvents(running, 120_000, last)).toMatchObject({
      kind: 'timeout',
      message: `no event of conversation ${ID} for 2m; the last was: ls -l`,
      details: {
        hint: followAndStop,
        data: { reason: 'no-events', id: ID, last_status: 'running' },
      },
    });
    expect(noEvents(running, 120_000, null).message).toBe(`no event of conversation ${ID} for 2m`);
  });
});

it('a run that waits for a confirmation is named as one that only an answer continues', () => {
  expect(staysWaiting(ID)).toBe(
    `conversation ${ID} waits for a confirmation and does not run until it is answered`,
  );
});
