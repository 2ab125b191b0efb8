import { describe, expect, it } from 'vitest';
import { blankConversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';
import { AppError } from '../../src/errors.ts';
import * as endings from '../../src/runs/endings.ts';
import { NO_EVIDENCE } from '../../src/runs/outcome.ts';

const ID = '0123456789abcdef0123456789abcdef';
const running = blankConversation(ID, 'running');
const evidence = { ...NO_EVIDENCE, last_event_id: 'e1' };
const followAndStop = `follow it: acs conv follow ${ID}   stop it: acs conv stop ${ID}`;
const show = `see its status: acs conv show ${ID}`;
const signal = (exitCode = 130) =>
  new AppError('interrupted', 'interrupted by SIGINT', { exitCode, server: 'http://127.0.0.1:9' });
const timeout = () => new AppError('timeout', 'too late', { data: { reason: 'timeout' }, retryable: true });

describe('a command that leaves a run', () => {
  it.each([
    ['running', 'continues', `stop it: acs conv stop ${ID}`],
    ['paused', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['stopped', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['idle', 'does not change by itself', `stop it: acs conv stop ${ID}`],
    ['waiting', 'does not change by itself', `answer it: acs conv confirm ${ID}`],
  ] as const)('that is %s prints that it %s, and the next command', (status, future, end) => {
    const conversation = blankConversation(ID, status);
    const hint = `follow it: acs conv follow ${ID}   ${end}`;
    expect(endings.deadlinePassed(conversation, 60_000)).toMatchObject({
      kind: 'timeout',
      message: `conversation ${ID} is still ${status} after 1m; it ${future}`,
      details: { hint, data: { reason: 'timeout', id: ID, last_status: status } },
    });
    expect(endings.interruption(signal(), conversation)).toMatchObject({
      kind: 'interrupted',
      message: `interrupted by SIGINT; conversation ${ID} (${status}) ${future}`,
      details: { hint, data: { reason: 'interrupted', id: ID, last_status: status } },
    });
  });

  it('whose status was not read prints that there was none', () => {
    expect(endings.deadlinePassed(blankConversation(ID, endings.NOT_READ), 60_000)).toMatchObject({
      message: `conversation ${ID} shows no status of the run that was requested after 1m`,
      details: { hint: followAndStop, data: { last_status: 'unknown(not-read)' } },
    });
    const { exitCode, message, details } = endings.interruption(signal(143), blankConversation(ID, endings.NOT_READ));
    expect([exitCode, message]).toEqual([143, `interrupted by SIGINT; conversation ${ID} continues`]);
    expect(details).toMatchObject({ hint: followAndStop, server: 'http://127.0.0.1:9' });
    expect(details.data).toEqual({ reason: 'interrupted', id: ID });
  });

  it('prints the last status that is known when the server does not answer before the deadline', () => {
    const details = { hint: show, data: { reason: 'timeout', id: ID, last_status: 'running' } };
    const known = `the last known status of conversation ${ID} is running`;
    expect(endings.deadlinePassedUnseen(running, 60_000)).toMatchObject({
      kind: 'timeout',
      message: `the server did not answer within 1m; ${known}`,
      details,
    });
    expect(endings.deadlinePassedBefore(running, 60_000)).toMatchObject({
      kind: 'timeout',
      message: `1m passed before the run could be followed; ${known}`,
      details,
    });
  });

  it('prints the last event of a run without events', () => {
    const last = { text: 'ls -l' } as ConversationEvent;
    expect(endings.noEvents(running, 120_000, last)).toMatchObject({
      kind: 'timeout',
      message: `no event of conversation ${ID} for 2m; the last was: ls -l`,
      details: { hint: followAndStop, data: { reason: 'no-events', id: ID, last_status: 'running' } },
    });
    expect(endings.noEvents(running, 120_000, null).message).toBe(`no event of conversation ${ID} for 2m`);
  });
});

describe('a command that stops the run it has waited for', () => {
  it('prints that it was stopped', () => {
    expect(endings.stoppedInstead(timeout(), 'it took 1m', blankConversation(ID, 'stopped'))).toMatchObject({
      kind: 'timeout',
      message: `it took 1m; conversation ${ID} was stopped`,
      details: { hint: show, retryable: true, data: { reason: 'timeout', id: ID, last_status: 'stopped' } },
    });
  });

  it('prints that a run which waits for a confirmation does not run', () => {
    expect(endings.stoppedInstead(timeout(), 'it took 1m', blankConversation(ID, 'waiting')).message).toBe(
      `it took 1m; conversation ${ID} waits for a confirmation and does not run until it is answered`,
    );
  });

  it('prints that it could not be stopped', () => {
    const error = endings.notStopped(signal(129), 'SIGHUP', ID, 'no connection');
    expect(error).toMatchObject({
      kind: 'interrupted',
      exitCode: 129,
      message: `SIGHUP; conversation ${ID} could not be stopped (no connection) and continues`,
      details: {
        hint: `stop it: acs conv stop ${ID}   follow it: acs conv follow ${ID}`,
        server: 'http://127.0.0.1:9',
      },
    });
    expect(error.details.data).toEqual({ id: ID });
    expect(endings.notStopped(timeout(), 'x', ID, 'y').details.data).toEqual({ reason: 'timeout', id: ID });
  });
});

describe('the outcome of tracking that ends before the run', () => {
  it('has the reason of the failure', () => {
    const failure = timeout();
    expect(endings.openRun({ ...running, cost_usd: 2 }, evidence, failure)).toEqual({
      outcome: {
        type: 'outcome',
        conversation_id: ID,
        status: 'running',
        reason: { code: 'timeout', text: 'too late' },
        waiting_for: null,
        exit_code: 124,
        cost_usd: 2,
        last_event_id: 'e1',
      },
      failure,
    });
    const silence = endings.noEvents(running, 1_000, null);
    expect(endings.openRun(running, evidence, silence).outcome.reason?.code).toBe('no-events');
  });

  it('has the kind of a failure without a reason', () => {
    const { outcome } = endings.openRun(running, evidence, signal());
    expect(outcome).toMatchObject({ reason: { code: 'interrupted' }, exit_code: 130 });
    const odd = new AppError('timeout', 'x', { data: { reason: 1 } });
    expect(endings.openRun(running, evidence, odd).outcome.reason?.code).toBe('timeout');
  });

  it('is a conflict when there are no more events', () => {
    expect(endings.endOfItems(running, evidence)).toMatchObject({
      outcome: { exit_code: 6, reason: { code: 'running', text: 'the conversation is running' }, last_event_id: 'e1' },
      failure: null,
    });
  });
});
