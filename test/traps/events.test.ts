/** How events come: naive times, ids in two forms, pieces of a text, answers in two shapes (interface 7, 12). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentMessage, event, finish, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
});
afterEach(() => trap.close());

interface Shown {
  id: string;
  text: string;
  kind: string;
  timestamp: string;
}
const items = (out: string): Shown[] => (JSON.parse(out) as { items: Shown[] }).items;

describe('times', () => {
  it('without a zone are UTC, and shown with one', async () => {
    trap.agentEvents.push({ ...userMessage('do it'), timestamp: '2026-11-21T10:15:35.212958' });
    const { out } = await trap.acs('conv', 'events', ID, '--json');
    expect(items(out)[0]?.timestamp).toMatch(/^2026-11-21T10:15:35\.212(958)?Z$/);
  });

  it('are sent without a zone: with one the event of exactly that time would be left out', async () => {
    trap.agentEvents.push({ ...userMessage('exactly then'), timestamp: '2026-11-21T10:15:35.212000' });
    const { out } = await trap.acs('conv', 'events', ID, '--since', '2026-11-21T10:15:35.212Z', '--json');
    expect(items(out).map(({ text }) => text)).toEqual(['exactly then']);
    const sent = trap.fake.asked.map(({ query }) => query.get('timestamp__gte')).filter((time) => time !== null);
    expect(sent).toEqual(['2026-11-21T10:15:35.212']);
  });

  it('are compared here where a release answers every filter by time with 500', async () => {
    await trap.close();
    trap = await v1Trap('1.6.0');
    trap.addConversation({ sandbox_status: 'PAUSED', execution_status: null, conversation_url: null });
    trap.appEvents.push(
      { ...userMessage('before'), timestamp: '2026-11-21T10:15:00.000000' },
      { ...finish('after'), timestamp: '2026-11-21T10:16:00.000000' },
      { ...status('finished'), timestamp: '2026-11-21T10:16:01.000000' },
    );
    trap.before = ({ query }) =>
      query.has('timestamp__gte') ? { status: 500, text: 'Internal Server Error', type: 'text/plain' } : null;
    const { code, out, err } = await trap.acs('conv', 'events', ID, '--since', '2026-11-21T10:15:30Z', '--json');
    expect(code, err).toBe(0);
    expect(items(out).map(({ text }) => text)).toEqual(['after', 'execution_status: finished']);
  });
});

it('an id is taken with dashes or without, and shown without', async () => {
  const dashed = ID.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  for (const id of [ID, dashed, ID.toUpperCase()]) {
    expect(await trap.acs('conv', 'show', id, '-q')).toMatchObject({ code: 0, out: `${ID}\n` });
  }
});

it('pieces of a text that is being written are not shown beside the text, nor snapshots of the state', async () => {
  const pieces = ['', 'he', 'llo'].map((content) => event('StreamingDeltaEvent', { content }));
  const snapshot = event('ConversationStateUpdateEvent', { key: 'full_state', value: { execution_status: 'running' } });
  trap.agentEvents.push(userMessage('do it'), snapshot, ...pieces, agentMessage('hello'), status('finished'));
  const read = items((await trap.acs('conv', 'events', ID, '--json')).out).map(({ text }) => text);
  expect(read).toEqual(['do it', 'hello', 'execution_status: finished']);
  const { out } = await trap.acs('conv', 'follow', ID, '--json');
  expect(out).not.toContain('StreamingDeltaEvent');
});

it('an event of a kind nobody knows yet is shown by its kind and passed through whole', async () => {
  trap.agentEvents.push(event('HologramEvent', { depth: 3 }));
  const { out } = await trap.acs('conv', 'events', ID, '--json');
  expect(items(out)).toMatchObject([{ kind: 'HologramEvent', payload: { depth: 3 } }]);
});

describe('the final answer', () => {
  it.each([
    ['what the agent finished with', finish('the answer'), 'the answer'],
    ['a message, where the model ends with a text', agentMessage('the answer'), 'the answer'],
  ])('is %s', async (_, last, answer) => {
    trap.agentEvents.push(userMessage('do it'), agentMessage('on my way'), last, status('finished'));
    expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 0, out: answer });
  });

  it('needs no call that only newer servers have', async () => {
    trap.agentEvents.push(userMessage('do it'), finish('the answer'));
    await trap.acs('conv', 'result', ID);
    expect(trap.fake.lines().some((line) => line.includes('agent_final_response'))).toBe(false);
  });
});

it('a run that failed is a run like any other once a new message revives it', async () => {
  trap.agentEvents.push(
    userMessage('first'),
    event('ConversationErrorEvent', { code: 'LLMRateLimitError', detail: 'too fast' }),
    status('error'),
    userMessage('second'),
    status('running'),
    finish('the answer'),
    status('finished'),
  );
  const { code, out } = await trap.acs('conv', 'wait', ID, '--json');
  expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({ code: 0, status: 'finished', reason: null });
});
