/**
 * How events come: naive times, ids in two forms, pieces of a text, answers in two shapes
 * (interface 7, 12).
 */
import { beforeEach, expect, it } from 'vitest';
import {
  agentMessage,
  event,
  finish,
  ID,
  status,
  userMessage,
} from '../client/support/v1-server.ts';
import { useV1 } from '../support/use-scripted.ts';

const at = useV1();

beforeEach(() => {
  at.v1.addConversation({ execution_status: 'finished' });
});

it('an id is accepted with dashes and without, and printed without', async () => {
  const dashed = ID.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  for (const id of [ID, dashed, ID.toUpperCase()]) {
    await at.ends(`conv show ${id} -q`, { out: `${ID}\n` });
  }
});

it('conv events prints neither stream deltas nor snapshots of the state', async () => {
  const pieces = ['', 'he', 'llo'].map((content) => event('StreamingDeltaEvent', { content }));
  const snapshot = event('ConversationStateUpdateEvent', {
    key: 'full_state',
    value: { execution_status: 'running' },
  });
  at.v1.agentEvents.push(
    userMessage('do it'),
    snapshot,
    ...pieces,
    agentMessage('hello'),
    status('finished'),
  );
  const { items } = await at.json<{ items: { text: string }[] }>(`conv events ${ID}`);
  expect(items.map(({ text }) => text)).toEqual(['do it', 'hello', 'execution_status: finished']);
  await at.ends(`conv follow ${ID} --json`, { hides: 'StreamingDeltaEvent' });
});

it('an event of an unknown kind is printed by its kind, and whole with --json', async () => {
  at.v1.agentEvents.push(event('HologramEvent', { depth: 3 }));
  const out = { items: [{ kind: 'HologramEvent', payload: { depth: 3 } }] };
  await at.ends(`conv events ${ID} --json`, { out });
});

it('a failed run has the outcome of a later message', async () => {
  at.v1.agentEvents.push(
    userMessage('first'),
    event('ConversationErrorEvent', { code: 'LLMRateLimitError', detail: 'too fast' }),
    status('error'),
    userMessage('second'),
    status('running'),
    finish('the answer'),
    status('finished'),
  );
  await at.ends(`conv wait ${ID} --json`, { out: { status: 'finished', reason: null } });
});
