import { expect, it } from 'vitest';
import { readEventV0 } from '../../../src/protocol/v0/records.ts';
import { toEventV0 } from '../../../src/client/v0/events.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';

const state = (agent_state: string) => ({
  observation: 'agent_state_changed',
  extras: { agent_state },
});

it.each([
  [{ action: 'message', source: 'user' }, 'message'],
  [{ action: 'message', source: 'agent' }, 'activity'],
  [{ action: 'run', source: 'agent' }, 'activity'],
  [{ observation: 'run', source: 'environment' }, null],
  [{ observation: 'user_rejected', source: 'agent' }, 'rejection'],
  [state('running'), 'status:running'],
  [state('loading'), 'status:starting'],
  [state('user_rejected'), 'status:rejected'],
  [state('AWAITING_USER_INPUT'), 'status:awaiting-user'],
  [state('finished'), 'status:other'],
])('the run signal of the V0 event %j is %s', (members, signal) => {
  const record = readEventV0({ id: 1, timestamp: null, ...members });
  expect(toEventV0(record, 'c', new Redaction([])).signal).toBe(signal);
});
