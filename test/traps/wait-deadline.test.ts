/** A deadline of `conv wait` that passes before the events are read: the run is judged as one that was tracked. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ID, OTHER_ID, status, userMessage } from '../servers/support/v1-world.ts';
import type { Ended } from '../support/world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
  trap.agentState['execution_status'] = 'finished';
  trap.agentEvents.push(userMessage('hello'));
});
afterEach(() => trap.close());

/** The first read of events is answered after the deadline; the others at once. */
async function waitWithSlowEvents(...args: string[]): Promise<Ended> {
  let isFirst = true;
  const { handler } = trap.fake;
  trap.fake.handler = async (asked) => {
    if (isFirst && asked.path.endsWith('/events/search')) {
      isFirst = false;
      await trap.clock.sleep(2_500);
    }
    return await handler(asked);
  };
  return await trap.acs('conv', 'wait', ...args, '--wait-timeout', '1500ms', '--json');
}

const errorOf = ({ err }: Ended): unknown =>
  (JSON.parse(err.trimEnd().split('\n').at(-1) ?? '') as { error: unknown }).error;

it('conv wait exits 0 when record and sandbox are finished and the message is the newest event', async () => {
  const ended = await waitWithSlowEvents(ID);
  expect(ended.code, ended.err).toBe(0);
  expect(JSON.parse(ended.out)).toMatchObject({ status: 'finished', exit_code: 0, reason: null });
});

it('conv wait exits 0 when record and sandbox are finished and the newest event reports a running run', async () => {
  trap.agentEvents.push(status('running'));
  const ended = await waitWithSlowEvents(ID);
  expect(ended.code, ended.err).toBe(0);
  expect(JSON.parse(ended.out)).toMatchObject({ status: 'finished', exit_code: 0 });
});

it('conv wait exits 124 when the sandbox reports that the run is in progress, and does not name the old status', async () => {
  trap.agentState['execution_status'] = 'running';
  const ended = await waitWithSlowEvents(ID);
  expect(ended.code, ended.err).toBe(124);
  expect(errorOf(ended)).toMatchObject({
    code: 'timeout',
    message: `conversation ${ID} shows no status of the run that was requested after 1500ms`,
  });
});

it('conv wait exits 124 with the status of a run that is in progress', async () => {
  trap.conversations.get(ID)!['execution_status'] = 'running';
  const ended = await waitWithSlowEvents(ID);
  expect(ended.code, ended.err).toBe(124);
  expect(errorOf(ended)).toMatchObject({ message: `conversation ${ID} is still running after 1500ms; it continues` });
});

it.each([
  ['finished', 0],
  ['paused', 6],
  ['failed,finished', 0],
])('conv wait --for %s exits %i when the run has finished', async (wanted, code) => {
  const ended = await waitWithSlowEvents(ID, '--for', wanted);
  expect(ended.code, ended.err).toBe(code);
  expect(JSON.parse(ended.out)).toMatchObject({ status: 'finished', exit_code: code });
});

it('conv wait --for archived exits 124 with the statement that a finished run has ended', async () => {
  trap.agentEvents.push(status('finished'));
  const ended = await waitWithSlowEvents(ID, '--for', 'archived');
  expect(ended.code, ended.err).toBe(124);
  expect(errorOf(ended)).toMatchObject({ hint: `see its status: acs conv show ${ID}`, last_status: 'finished' });
  expect(ended.err).toContain('; it has ended');
});

it('conv wait with two ids prints the outcome of the one that has finished, and exits 124 for the other', async () => {
  trap.addConversation({ id: OTHER_ID, execution_status: 'running' });
  const { handler } = trap.fake;
  trap.fake.handler = async (asked) => {
    if (asked.path.endsWith('/events/search') && trap.clock.now() < deadlineMs) await trap.clock.sleep(2_500);
    return await handler(asked);
  };
  const deadlineMs = trap.clock.now() + 1_500;
  const ended = await trap.acs('conv', 'wait', ID, OTHER_ID, '--wait-timeout', '1500ms', '--json');
  expect(ended.code, ended.err).toBe(124);
  const { items } = JSON.parse(ended.out) as { items: unknown[] };
  expect(items).toMatchObject([
    { conversation_id: ID, status: 'finished', exit_code: 0 },
    { conversation_id: OTHER_ID, status: 'running', exit_code: 124 },
  ]);
});
