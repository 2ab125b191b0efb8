/**
 * `cost_usd` and `tokens` are null until they are at least as new as the last event of the run. The
 * records of app servers lag behind: here they have the metrics of before the run, and an
 * `updated_at` later than its last event.
 */
import { describe, expect, it } from 'vitest';
import { idleClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { agentMessage, event, ID, status, userMessage } from '../support/v1-server.ts';

const at = useV1({ noun: 'conv', clock: () => idleClock(30) });
const OLD = {
  accumulated_cost: 0,
  accumulated_token_usage: { prompt_tokens: 0, completion_tokens: 0 },
};
const UNKNOWN = { status: 'finished', cost_usd: null, tokens: null };
const AFTER_3 = { status: 'finished', cost_usd: 1, tokens: { input: 400, output: 80 } };

/**
 * The statistics of an agent after this many answers of its model, and of a condenser after one.
 */
function stats(answers: number): Record<string, unknown> {
  const use = (calls: number): unknown => ({
    // The noise of a sum of fractions, which no output has.
    accumulated_cost: 0.25 * calls + 1e-12,
    accumulated_token_usage: { prompt_tokens: 100 * calls, completion_tokens: 20 * calls },
  });
  return { usage_to_metrics: { agent: use(answers), condenser: use(1) } };
}

const snapshot = (answers: number): Record<string, unknown> =>
  event('ConversationStateUpdateEvent', {
    source: 'environment',
    key: 'full_state',
    value: { execution_status: 'finished', stats: stats(answers) },
  });

const answerStats = (answers: number): Record<string, unknown> =>
  event('ConversationStateUpdateEvent', {
    source: 'environment',
    key: 'stats',
    value: stats(answers),
  });

const answer = (llm_response_id: string): Record<string, unknown> => ({
  ...agentMessage('done'),
  llm_response_id,
});

/** A run of the release that stores the newest `stats` behind the event that ends it, or never. */
function ranUntil(
  word: string,
  state: Record<string, unknown>,
  members: Record<string, unknown> = {},
): void {
  at.v1.addConversation({
    execution_status: word,
    metrics: OLD,
    updated_at: '2026-11-30T10:00:00Z',
    ...members,
  });
  Object.assign(at.v1.agentState, { execution_status: word, ...state });
  at.v1.agentEvents.push(
    userMessage('hello'),
    status('running'),
    agentMessage('done'),
    status(word),
  );
  at.v1.appEvents.push(...at.v1.agentEvents);
}

async function prints(line: string, last: object): Promise<void> {
  const { out } = await at.ends(`${line} --format ndjson`, {});
  expect(JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject(last);
}

describe('in a sandbox that runs', () => {
  it('conv show, wait and follow give the sums of the sandbox after the end of the run, not those of the record', async () => {
    ranUntil('finished', { stats: stats(3) });
    await prints(`show ${ID}`, AFTER_3);
    for (const verb of ['wait', 'follow'])
      await prints(`${verb} ${ID}`, { type: 'outcome', cost_usd: 1 });
  });

  it('conv send --wait gives the cost after the run of the message', async () => {
    ranUntil('finished', { stats: stats(3) });
    at.v1.before = ({ method }) => {
      if (method !== 'POST') return null;
      at.v1.agentEvents.push(
        userMessage('more'),
        status('running'),
        agentMessage('done'),
        status('finished'),
      );
      at.v1.agentState['stats'] = stats(5);
      return { json: { success: true } };
    };
    await prints(`send ${ID} more --wait`, { status: 'finished', cost_usd: 1.5 });
  });

  it.each([
    ['the run goes on', 'running', { stats: stats(3) }],
    ['the sandbox has no statistics', 'finished', {}],
    ['the statistics lack the cost', 'finished', { stats: { usage_to_metrics: { agent: {} } } }],
    [
      'the local service knows no price of the model',
      'finished',
      { stats: { usage_to_metrics: { agent: { accumulated_cost: 0, local_cost_unknown: true } } } },
    ],
  ])('conv show gives null when %s', async (_, word, state) => {
    ranUntil(word, state);
    await prints(`show ${ID}`, { ...UNKNOWN, status: word });
  });

  it('conv show gives null when the sandbox refuses the request, and exits 0', async () => {
    ranUntil('finished', {});
    at.v1.before = ({ path }) =>
      path.startsWith('/agent/') ? { status: 403, json: { detail: 'no' } } : null;
    await prints(`show ${ID}`, UNKNOWN);
  });

  it('conv list gives null, and sends no request to a sandbox', async () => {
    ranUntil('finished', { stats: stats(3) });
    await prints('list', { id: ID, ...UNKNOWN });
    expect(at.server.asked.filter(({ path }) => path.startsWith('/agent/'))).toEqual([]);
  });
});

describe.each(['PAUSED', 'MISSING'])('when the sandbox is %s', (sandbox_status) => {
  const down = {
    execution_status: null,
    sandbox_status,
    conversation_url: null,
    session_api_key: null,
  };

  it('conv show and wait give the sums of the last snapshot of the state', async () => {
    ranUntil('finished', {}, down);
    at.v1.appEvents.push(snapshot(3));
    await prints(`show ${ID}`, AFTER_3);
    await prints(`wait ${ID}`, { type: 'outcome', cost_usd: 1 });
  });

  it('conv show gives the sums that the server has stored before the last answer', async () => {
    ranUntil('finished', {}, down);
    at.v1.appEvents.push(answerStats(3), answer('one'), answer('one'), status('finished'));
    await prints(`show ${ID}`, AFTER_3);
    at.v1.appEvents.push(answer('two'), status('finished'));
    await prints(`show ${ID}`, UNKNOWN);
  });

  it.each([
    ['the agent has answered since the last snapshot', true],
    ['the copy of the events has no snapshot', false],
  ])('conv show gives null when %s', async (_, hasSnapshot) => {
    ranUntil('finished', {}, down);
    if (hasSnapshot)
      at.v1.appEvents.push(
        snapshot(3),
        userMessage('more'),
        agentMessage('done'),
        status('finished'),
      );
    await prints(`show ${ID}`, UNKNOWN);
  });
});
