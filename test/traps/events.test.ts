/** How events come: naive times, ids in two forms, pieces of a text, answers in two shapes (interface 7, 12). */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentMessage, event, finish, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { eventTrap, items } from './support/event-trap.ts';
import type { V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await eventTrap();
});
afterEach(() => trap.close());

it('an id is accepted with dashes and without, and printed without', async () => {
  const dashed = ID.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  for (const id of [ID, dashed, ID.toUpperCase()]) {
    expect(await trap.acs('conv', 'show', id, '-q')).toMatchObject({ code: 0, out: `${ID}\n` });
  }
});

it('conv events prints neither stream deltas nor snapshots of the state', async () => {
  const pieces = ['', 'he', 'llo'].map((content) => event('StreamingDeltaEvent', { content }));
  const snapshot = event('ConversationStateUpdateEvent', { key: 'full_state', value: { execution_status: 'running' } });
  trap.agentEvents.push(userMessage('do it'), snapshot, ...pieces, agentMessage('hello'), status('finished'));
  const read = items((await trap.acs('conv', 'events', ID, '--json')).out).map(({ text }) => text);
  expect(read).toEqual(['do it', 'hello', 'execution_status: finished']);
  const { out } = await trap.acs('conv', 'follow', ID, '--json');
  expect(out).not.toContain('StreamingDeltaEvent');
});

it('an event of an unknown kind is printed by its kind, and whole with --json', async () => {
  trap.agentEvents.push(event('HologramEvent', { depth: 3 }));
  const { out } = await trap.acs('conv', 'events', ID, '--json');
  expect(items(out)).toMatchObject([{ kind: 'HologramEvent', payload: { depth: 3 } }]);
});

it('a failed run has the outcome of a later message', async () => {
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
