import { expect, it } from 'vitest';
import { readEvent } from '../../../src/protocol/v1/records.ts';
import { toEvent } from '../../../src/servers/v1/event-records.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';

const status = (value: unknown) => ({ kind: 'ConversationStateUpdateEvent', key: 'execution_status', value });

it.each([
  [{ kind: 'MessageEvent', source: 'user' }, 'message'],
  [{ kind: 'MessageEvent', source: 'agent' }, 'activity'],
  [{ kind: 'ActionEvent', source: 'agent' }, 'activity'],
  [{ kind: 'ActionEvent', source: 'user' }, null],
  [{ kind: 'ObservationEvent', source: 'environment' }, null],
  [{ kind: 'UserRejectObservation', source: 'environment' }, 'rejection'],
  [status('running'), 'status:running'],
  [status('RUNNING'), 'status:running'],
  [status('finished'), 'status:other'],
  [status(null), null],
  [{ kind: 'ConversationStateUpdateEvent', key: 'stats', value: 'running' }, null],
])('the run signal of the V1 event %j is %s', (members, signal) => {
  const record = readEvent({ id: 'e', timestamp: null, ...members });
  expect(toEvent(record, 'c', createRedaction([])).signal).toBe(signal);
});
