/**
 * A deadline of `conv wait` that passes before the events are read: the run is judged as one that
 * was tracked.
 */
import { beforeEach, expect, it } from 'vitest';
import { ID, OTHER_ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const at = useIdleV1();

beforeEach(() => {
  at.v1.addConversation({ execution_status: 'finished' });
  at.v1.agentState['execution_status'] = 'finished';
  at.v1.agentEvents.push(userMessage('hello'));
});
const ENDED = '; it has ended';
it.each<[string, () => unknown, string, number, object, string?]>([
  [
    '0 when record and sandbox are finished and the message is the newest event',
    () => null,
    '',
    0,
    { status: 'finished', exit_code: 0, reason: null },
  ],
  [
    '0 when record and sandbox are finished and the newest event reports a running run',
    () => at.v1.agentEvents.push(status('running')),
    '',
    0,
    { status: 'finished', exit_code: 0 },
  ],
  [
    '124 without the old status when the sandbox reports that the run is in progress',
    () => (at.v1.agentState['execution_status'] = 'running'),
    '',
    124,
    {
      code: 'timeout',
      message: `after 1500ms conversation ${ID} shows no status of the requested run`,
    },
  ],
  [
    '124 with the status of a run that is in progress',
    () => (at.v1.conversations.get(ID)!['execution_status'] = 'running'),
    '',
    124,
    { message: `conversation ${ID} is still running after 1500ms; it continues` },
  ],
  ['0 for a finished run', () => null, '--for finished', 0, { status: 'finished', exit_code: 0 }],
  ['6 for a finished run', () => null, '--for paused', 6, { status: 'finished', exit_code: 6 }],
  [
    '0 for a finished run',
    () => null,
    '--for failed,finished',
    0,
    { status: 'finished', exit_code: 0 },
  ],
  [
    '124 with the statement that a finished run has ended',
    () => at.v1.agentEvents.push(status('finished')),
    '--for archived',
    124,
    { hint: `see its status: acs conv show ${ID}`, last_status: 'finished' },
    ENDED,
  ],
])('conv wait exits %s (%#)', async (_, given, flags, code, printed, err = '') => {
  given();
  let isFirst = true;
  const { handler } = at.server;
  // The first read of events is answered after the deadline; the others at once.
  at.server.handler = async (asked) => {
    if (isFirst && asked.path.endsWith('/events/search')) {
      isFirst = false;
      await at.clock.sleep(2_500);
    }
    return await handler(asked);
  };
  const ended = await at.ends(`conv wait ${ID} ${flags} --wait-timeout 1500ms --json`, { code });
  expect(code === 124 ? errorOf(ended) : JSON.parse(ended.out)).toMatchObject(printed);
  expect(ended.err).toContain(err);
});

it('conv wait with two ids prints the outcome of the one that has finished, and exits 124 for the other', async () => {
  at.v1.addConversation({ id: OTHER_ID, execution_status: 'running' });
  const { handler } = at.server;
  at.server.handler = async (asked) => {
    if (asked.path.endsWith('/events/search') && at.clock.now() < deadlineMs)
      await at.clock.sleep(2_500);
    return await handler(asked);
  };
  const deadlineMs = at.clock.now() + 1_500;
  const ended = await at.ends(`conv wait ${ID} ${OTHER_ID} --wait-timeout 1500ms --json`, {
    code: 124,
  });
  const { items } = JSON.parse(ended.out) as { items: unknown[] };
  expect(items).toMatchObject([
    { conversation_id: ID, status: 'finished', exit_code: 0 },
    { conversation_id: OTHER_ID, status: 'running', exit_code: 124 },
  ]);
});
