import { expect, it } from 'vitest';
import {
  CONVERSATION_STATUSES,
  NO_STATUS,
  type ConversationStatus,
} from '../../src/domain/conversation.ts';
import * as statuses from '../../src/runs/status.ts';

const STATUSES: ConversationStatus[] = [
  ...CONVERSATION_STATUSES,
  'deleted',
  NO_STATUS,
  'unknown(thinking)',
];
const ENDED = 'finished failed stuck';

const runsIn = (sandbox_status: 'running' | 'paused') => (status: ConversationStatus) =>
  statuses.isRunInProgress({ status, sandbox_status });

it.each<[string, (status: ConversationStatus) => boolean, string]>([
  ['isWorking', statuses.isWorking, 'starting running'],
  [
    'hasStopped',
    statuses.hasStopped,
    `idle waiting paused ${ENDED} stopped archived deleting deleted unknown(thinking)`,
  ],
  ['hasEnded', statuses.hasEnded, ENDED],
  ['isFinal', statuses.isFinal, `${ENDED} stopped archived deleting deleted`],
  ['isUnknown', statuses.isUnknown, `${NO_STATUS} unknown(thinking)`],
  ['isRunInProgress in a running sandbox', runsIn('running'), 'starting running waiting'],
  ['isRunInProgress in a paused sandbox', runsIn('paused'), 'starting running'],
  [
    'a resume without a request',
    (status) => statuses.actionOnResume(status) === 'nothing',
    'starting finished',
  ],
  [
    'a resume if there is a message',
    (status) => statuses.actionOnResume(status) === 'run-if-message',
    'idle',
  ],
  [
    'an end',
    (status) => statuses.endOfStatus(status) !== null,
    `waiting paused ${ENDED} stopped archived`,
  ],
  ['exit code 0', (status) => statuses.exitCodeOfStatus(status) === 0, 'finished'],
  ['exit code 1', (status) => statuses.exitCodeOfStatus(status) === 1, 'failed stuck'],
  ['exit code 8', (status) => statuses.exitCodeOfStatus(status) === 8, 'idle waiting'],
])('%s', (_, holds, expected) => {
  expect(STATUSES.filter(holds).toSorted()).toEqual(expected.split(' ').toSorted());
});

it('every other status has exit code 6, and is continued by a resume', () => {
  expect(STATUSES.filter((status) => statuses.exitCodeOfStatus(status) === 6)).toHaveLength(
    STATUSES.length - 5,
  );
  expect(statuses.actionOnResume('unknown(thinking)')).toBe('run');
});
