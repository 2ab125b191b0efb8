/**
 * `cost_usd` and `tokens` are null until they are at least as new as the last event of the run. The records of app
 * servers lag behind: here they have the metrics of before the run, and an `updated_at` later than its last event.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentMessage, event, ID, status, userMessage } from '../support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';

const OLD = { accumulated_cost: 0, accumulated_token_usage: { prompt_tokens: 0, completion_tokens: 0 } };
const UNKNOWN = { cost_usd: null, tokens: null };

let trap: V1Trap;
beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

/** The statistics of an agent after this many answers of its model, and of a condenser after one. */
function stats(answers: number): Record<string, unknown> {
  const use = (calls: number): unknown => ({
    accumulated_cost: 0.25 * calls,
    accumulated_token_usage: { prompt_tokens: 100 * calls, completion_tokens: 20 * calls },
  });
  return { usage_to_metrics: { agent: use(answers), condenser: use(1) } };
}
const after3 = { cost_usd: 1, tokens: { input: 400, output: 80 } };

const snapshot = (answers: number): Record<string, unknown> =>
  event('ConversationStateUpdateEvent', {
    source: 'environment',
    key: 'full_state',
    value: { execution_status: 'finished', stats: stats(answers) },
  });

/** A run of the release that stores the newest `stats` behind the event that ends it, or never. */
function ranUntil(word: string, members: Record<string, unknown> = {}): void {
  trap.addConversation({ execution_status: word, metrics: OLD, updated_at: '2026-11-30T10:00:00Z', ...members });
  trap.agentState['execution_status'] = word;
  trap.agentEvents.push(userMessage('hello'), status('running'), agentMessage('done'), status(word));
  trap.appEvents.push(...trap.agentEvents);
}

async function printed(...args: string[]): Promise<Record<string, unknown>> {
  const ended = await trap.acs('conv', ...args, '--format', 'ndjson');
  expect(ended.code, ended.err).toBe(0);
  return JSON.parse(ended.out.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
}

describe('in a sandbox that runs', () => {
  it('conv show, wait and follow give the sums of the sandbox after the end of the run, not those of the record', async () => {
    ranUntil('finished');
    trap.agentState['stats'] = stats(3);
    expect(await printed('show', ID)).toMatchObject(after3);
    expect(await printed('wait', ID)).toMatchObject({ type: 'outcome', cost_usd: 1 });
    expect(await printed('follow', ID)).toMatchObject({ type: 'outcome', cost_usd: 1 });
  });

  it('conv send --wait gives the cost after the run of the message', async () => {
    ranUntil('finished');
    trap.agentState['stats'] = stats(3);
    trap.before = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/events')) return null;
      trap.agentEvents.push(userMessage('more'), status('running'), agentMessage('done'), status('finished'));
      trap.agentState['stats'] = stats(5);
      return { json: { success: true } };
    };
    expect(await printed('send', ID, 'more', '--wait')).toMatchObject({ status: 'finished', cost_usd: 1.5 });
  });

  it('conv show gives null while the run goes on', async () => {
    ranUntil('running');
    trap.agentState['stats'] = stats(3);
    expect(await printed('show', ID)).toMatchObject({ status: 'running', ...UNKNOWN });
  });

  it.each([
    ['has no statistics', {}],
    ['has statistics without the cost', { stats: { usage_to_metrics: { agent: {} } } }],
  ])('conv show gives null when the sandbox %s', async (_, members) => {
    ranUntil('finished');
    Object.assign(trap.agentState, members);
    expect(await printed('show', ID)).toMatchObject({ status: 'finished', ...UNKNOWN });
  });

  it('conv show gives null when the sandbox refuses the request, and exits 0', async () => {
    ranUntil('finished');
    trap.before = ({ path }) => (path.startsWith('/agent/') ? { status: 403, json: { detail: 'no' } } : null);
    expect(await printed('show', ID)).toMatchObject({ status: 'finished', ...UNKNOWN });
  });

  it('conv list gives null, and sends no request to a sandbox', async () => {
    ranUntil('finished');
    trap.agentState['stats'] = stats(3);
    expect(await printed('list')).toMatchObject({ id: ID, status: 'finished', ...UNKNOWN });
    expect(trap.fake.asked.filter(({ path }) => path.startsWith('/agent/'))).toEqual([]);
  });
});

describe.each([
  ['paused', 'PAUSED'],
  ['gone', 'MISSING'],
])('when the sandbox is %s', (_, sandbox_status) => {
  const down = { execution_status: null, sandbox_status, conversation_url: null, session_api_key: null };

  it('conv show and wait give the sums of the last snapshot of the state', async () => {
    ranUntil('finished', down);
    trap.appEvents.push(snapshot(3));
    expect(await printed('show', ID)).toMatchObject({ status: 'finished', ...after3 });
    expect(await printed('wait', ID)).toMatchObject({ type: 'outcome', cost_usd: 1 });
  });

  it('conv show gives null when the agent has answered since the last snapshot', async () => {
    ranUntil('finished', down);
    trap.appEvents.push(snapshot(3), userMessage('more'), agentMessage('done'), status('finished'));
    expect(await printed('show', ID)).toMatchObject({ status: 'finished', ...UNKNOWN });
  });

  it('conv show gives null when the copy of the events has no snapshot', async () => {
    ranUntil('finished', down);
    expect(await printed('show', ID)).toMatchObject({ status: 'finished', ...UNKNOWN });
  });
});
