import { describe, expect, it } from 'vitest';
import { blankConversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';
import { AppError } from '../../src/errors.ts';
import * as endings from '../../src/runs/endings.ts';

const ID = '0123456789abcdef0123456789abcdef';
const running = blankConversation(ID, 'running');
const followAndStop = `follow it: acs conv follow ${ID}   stop it: acs conv stop ${ID}`;
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

  it.each(['finished', 'failed', 'stuck'] as const)('that is %s prints that it has ended', (status) => {
    const conversation = blankConversation(ID, status);
    expect(endings.deadlinePassed(conversation, 60_000)).toMatchObject({
      message: `conversation ${ID} is still ${status} after 1m; it has ended`,
      details: { hint: show },
    });
    expect(endings.interruption(signal(), conversation)).toMatchObject({
      message: `interrupted by SIGINT; conversation ${ID} (${status}) has ended`,
      details: { hint: show },
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

it('a run that waits for a confirmation is named as one that only an answer continues', () => {
  expect(endings.staysWaiting(ID)).toBe(
    `conversation ${ID} waits for a confirmation and does not run until it is answered`,
  );
});
