/** A server that takes requests and never answers them, in the middle of a command that waits: its deadline holds. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ID, OTHER_ID, userMessage } from '../servers/support/v1-world.ts';
import type { Asked } from '../servers/support/fake-server.ts';
import type { Ended } from '../support/world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

const SANDBOX = 'sandbox-that-starts';
let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

/** Answers as usual until this request has come so many times, and nothing after that. */
function hangsAfter(times: number, isAsked: (asked: Asked) => boolean): void {
  const usual = trap.before;
  let count = 0;
  let hangs = false;
  trap.before = (asked) => {
    if (isAsked(asked)) hangs ||= ++count > times;
    return hangs ? { silence: true } : usual(asked);
  };
}

function errorOf({ err }: Ended): Record<string, unknown> {
  const last = err.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as { error: Record<string, unknown> }).error;
}

describe('a wait for a start', () => {
  beforeEach(() => {
    const now = new Date().toISOString();
    const task = { id: OTHER_ID, status: 'WAITING_FOR_SANDBOX', detail: null, app_conversation_id: null };
    trap.tasks.set(OTHER_ID, { ...task, sandbox_id: null, request: {}, created_at: now, updated_at: now });
  });

  it.each(['wait', 'follow'])('ends at its deadline: conv %s', async (verb) => {
    hangsAfter(3, ({ path }) => path.endsWith('/start-tasks'));
    const ended = await trap.acs('conv', verb, OTHER_ID, '--wait-timeout', '30s', '--json');
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', reason: 'timeout', id: OTHER_ID });
  });
});

describe('a wait for a run', () => {
  it.each([['wait'], ['follow', '--tail', '1']])(
    'ends at its deadline although every read fails: conv %s',
    async (verb, ...flags) => {
      trap.addConversation();
      trap.agentEvents.push(userMessage('hello'));
      hangsAfter(0, ({ path }) => path.endsWith('/events/search'));
      const ended = await trap.acs('conv', verb, ID, ...flags, '--wait-timeout', '30s', '--json');
      expect(ended.code, ended.err).toBe(124);
      expect(errorOf(ended)).toMatchObject({ code: 'timeout', id: ID });
    },
  );

  it('of several prints the outcomes of the others', async () => {
    trap.addConversation();
    trap.addConversation({ id: OTHER_ID, execution_status: 'finished' });
    const usual = trap.before;
    trap.before = (asked) =>
      asked.path.includes(ID) && asked.path.endsWith('/events/search') ? { silence: true } : usual(asked);
    const { code, out } = await trap.acs('conv', 'wait', OTHER_ID, ID, '--wait-timeout', '30s', '--json');
    expect(code).toBe(124);
    expect((JSON.parse(out) as { items: unknown[] }).items).toMatchObject([
      { conversation_id: OTHER_ID, exit_code: 0 },
      { conversation_id: ID, exit_code: 124, reason: { code: 'timeout' } },
    ]);
  });
});

describe('a wait for a sandbox', () => {
  const record = {
    id: SANDBOX,
    status: 'STARTING',
    sandbox_spec_id: 'image',
    session_api_key: null,
    exposed_urls: null,
  };

  it.each([
    ['sandbox wait', ['wait', SANDBOX], 3],
    ['sandbox wait, which cannot even find it', ['wait', SANDBOX], 0],
    ['sandbox resume', ['resume', SANDBOX], 3],
  ])('ends at its deadline: %s', async (_, args, times) => {
    trap.before = ({ path }) =>
      path === '/api/v1/sandboxes' ? { json: [{ ...record, created_at: '2026-11-21T10:12:00Z' }] } : null;
    hangsAfter(times, ({ path }) => path === '/api/v1/sandboxes');
    const ended = await trap.acs('sandbox', ...args, '--wait-timeout', '30s', '--json');
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', id: SANDBOX });
  });
});
