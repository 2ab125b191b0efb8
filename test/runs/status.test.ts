import { describe, expect, it } from 'vitest';
import { CONVERSATION_STATUSES, NO_STATUS, type ConversationStatus } from '../../src/domain/conversation.ts';
import {
  actionOnResume,
  endOfStatus,
  exitCodeOfStatus,
  hasEnded,
  hasStopped,
  isFinal,
  isRunInProgress,
  isUnfinished,
  isUnknown,
  isWorking,
  staysSo,
} from '../../src/runs/status.ts';

const STATUSES: ConversationStatus[] = [...CONVERSATION_STATUSES, 'deleted', NO_STATUS, 'unknown(thinking)'];

describe('each predicate holds for its statuses and for no other', () => {
  it.each<[string, (status: ConversationStatus) => boolean, ConversationStatus[]]>([
    ['isWorking', isWorking, ['starting', 'running']],
    [
      'hasStopped',
      hasStopped,
      [
        'idle',
        'waiting',
        'paused',
        'finished',
        'failed',
        'stuck',
        'stopped',
        'archived',
        'deleted',
        'unknown(thinking)',
      ],
    ],
    ['hasEnded', hasEnded, ['finished', 'failed', 'stuck']],
    ['isUnfinished', isUnfinished, ['waiting', 'paused']],
    ['isFinal', isFinal, ['finished', 'failed', 'stuck', 'stopped', 'archived', 'deleted']],
    [
      'endOfStatus',
      (status) => endOfStatus(status) !== null,
      ['waiting', 'paused', 'finished', 'failed', 'stuck', 'stopped', 'archived'],
    ],
    ['staysSo', staysSo, ['idle', 'waiting', 'paused', 'stopped', 'archived', 'deleted']],
    ['isUnknown', isUnknown, [NO_STATUS, 'unknown(thinking)']],
  ])('%s', (_, holds, expected) => {
    expect(STATUSES.filter(holds)).toEqual(expected);
  });
});

describe('a resume', () => {
  it('requests nothing for a run that is starting or finished', () => {
    expect(STATUSES.filter((status) => actionOnResume(status) === 'nothing')).toEqual(['starting', 'finished']);
  });

  it('requests a run of every other conversation', () => {
    const others = STATUSES.filter((status) => !['starting', 'finished', 'idle'].includes(status));
    expect(others.map((status) => [status, actionOnResume(status)])).toEqual(others.map((status) => [status, 'run']));
  });

  it('requests a run of an idle conversation only if it has a message', () => {
    expect(STATUSES.filter((status) => actionOnResume(status) === 'run-if-message')).toEqual(['idle']);
  });
});

describe('isRunInProgress', () => {
  const inProgress = (sandbox_status: 'running' | 'paused') =>
    STATUSES.filter((status) => isRunInProgress({ status, sandbox_status }));

  it('holds for a run that works, starts or waits for an answer', () => {
    expect(inProgress('running')).toEqual(['starting', 'running', 'waiting']);
  });

  it('does not hold for a run that waits for an answer in a paused sandbox', () => {
    expect(inProgress('paused')).toEqual(['starting', 'running']);
  });
});

describe('the exit code of a status', () => {
  it.each([
    ['finished', 0],
    ['failed', 1],
    ['running', 6],
    ['starting', 6],
    ['stuck', 1],
    ['paused', 6],
    ['stopped', 6],
    ['archived', 6],
    ['waiting', 8],
    ['idle', 8],
    ['unknown(thinking)', 6],
  ] as const)('%s is %i', (status, code) => {
    expect(exitCodeOfStatus(status)).toBe(code);
  });
});
