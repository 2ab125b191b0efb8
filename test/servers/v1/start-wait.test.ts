import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECORDED_TASK, startTrap, type StartTrap } from '../../traps/support/start-trap.ts';
import { event, finish, ID, OTHER_ID, status, userMessage } from '../support/v1-world.ts';

let trap: StartTrap;

beforeEach(async () => {
  trap = await startTrap();
});
afterEach(() => trap.close());

describe('a start task without an end', () => {
  it('exits 124 when no conversation appears, and names the command that shows the start', async () => {
    trap.tasksStandAt('STARTING_CONVERSATION');
    const { code, out, err } = await trap.start('--start-timeout', '45s');
    expect(code).toBe(124);
    expect(JSON.parse(out)).toMatchObject({ id: trap.sentId, start_task_id: OTHER_ID });
    expect(err).toContain(`acs conv show ${OTHER_ID}`);
    for (const id of [OTHER_ID, trap.sentId, '@last']) {
      const shown = await trap.acs('conv', 'show', id, '--json');
      expect({ code: shown.code, ...(JSON.parse(shown.out) as object) }).toMatchObject({ code: 0, status: 'starting' });
    }
  });

  it('does not block later commands', async () => {
    trap.tasksStandAt('STARTING_CONVERSATION');
    const created = new Date(trap.clock.now()).toISOString().replace('Z', '');
    trap.tasks.set(ID, {
      ...RECORDED_TASK,
      id: ID,
      status: 'STARTING_CONVERSATION',
      app_conversation_id: null,
      created_at: created,
      updated_at: created,
    });
    expect(await trap.acs('conv', 'show', ID, '--exit-status')).toMatchObject({ code: 6 });
    expect(await trap.acs('conv', 'follow', ID, '--wait-timeout', '20s')).toMatchObject({ code: 124 });
  });
});

it('a start whose task the server no longer has ends with 9 at the first read of the task', async () => {
  trap.tasksStandAt('STARTING_CONVERSATION');
  const answer = trap.before;
  trap.before = (asked) => {
    const reply = answer(asked);
    if (reply !== null) trap.tasks.delete(OTHER_ID);
    return reply;
  };
  const { code, err } = await trap.start();
  expect(code, err).toBe(9);
  expect(err).toContain(`no longer has the start task ${OTHER_ID}`);
  const reads = trap.fake.asked.filter(({ method, path }) => method === 'GET' && /start-tasks/.test(path));
  expect(reads).toHaveLength(1);
});

it('a start task is not read again at once: the answer to the start, and each read, has its status', async () => {
  const steps = ['STARTING_CONVERSATION', 'READY'];
  const askedAtMs: number[] = [];
  trap.tasksStandAt('WORKING', (id) => ({ app_conversation_id: id }));
  trap.addConversation({ id: ID, execution_status: 'finished' });
  const { before } = trap;
  trap.before = (asked) => {
    if (/start-tasks/.test(asked.path)) {
      askedAtMs.push(trap.clock.now());
      const task = trap.tasks.get(OTHER_ID);
      if (task !== undefined) trap.tasks.set(OTHER_ID, { ...task, status: steps.shift() ?? 'READY' });
    } else if (asked.method === 'POST') askedAtMs.push(trap.clock.now());
    return before(asked);
  };
  await trap.start();
  const pausesMs = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
  expect(pausesMs).toHaveLength(2);
  for (const pauseMs of pausesMs) expect(pauseMs).toBeGreaterThanOrEqual(50);
});

it('conv new exits with the reason of its start task when the start fails', async () => {
  trap.tasksStandAt('ERROR', () => ({ detail: '500: Sandbox not found: nope' }));
  const { code, err } = await trap.start();
  expect(code).toBe(1);
  expect(err).toContain('Sandbox not found: nope');
});

it('a 500 that passes ends neither a start nor its follow', async () => {
  trap.tasksStandAt('READY', (id) => {
    trap.addConversation({ id, execution_status: 'finished' });
    return { app_conversation_id: id };
  });
  trap.agentEvents.push(userMessage('hello'), finish('done'), status('finished'));
  const { before } = trap;
  let looks = 0;
  trap.before = (asked) =>
    asked.path === '/api/v1/app-conversations' && asked.method === 'GET' && ++looks % 2 === 1
      ? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
      : before(asked);
  const { code, out, err } = await trap.acs('conv', 'new', 'hello', '--no-repo', '--follow');
  expect(code, err).toBe(0);
  expect(out).toContain('done');
});

it('a start that fails without a detail prints the usual cause', async () => {
  trap.tasksStandAt('ERROR', () => ({ detail: '' }));
  const { code, err } = await trap.start();
  expect(code).toBe(1);
  expect(err).toContain('acs settings get');
});

it('a run that fails at once makes conv new exit 1 with the reason, in each format', async () => {
  trap.tasksStandAt('READY', (id) => {
    trap.addConversation({ id, execution_status: 'error' });
    const error = { code: 'LLMAuthenticationError', detail: 'the model refuses the key' };
    trap.agentEvents.push(userMessage('hello'), event('ConversationErrorEvent', error), status('error'));
    return { app_conversation_id: id };
  });
  for (const flags of [[], ['-q']]) {
    trap.agentEvents.length = 0;
    const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo', '--wait', ...flags);
    expect(code, err).toBe(1);
    expect(err).toContain('failed: the model refuses the key');
  }
});
