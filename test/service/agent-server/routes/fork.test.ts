import { expect, it } from 'vitest';
import { ID, message, outputs, step, until } from '../support/worker.ts';
import { useSharedWorker } from '../support/shared-sandboxes.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

const shared = useSharedWorker([
  step.run('echo "one $TOKEN" | tr a-z A-Z'),
  step.finish('First.'),
  step.run('echo two'),
  step.finish('Second.'),
]);
const { get, post } = shared;

interface Fork {
  id: string;
  execution_status: string;
  [member: string]: unknown;
}

const eventsOf = async (id: string): Promise<StoredEvent[]> =>
  ((await get(`/api/conversations/${id}/events/search`)).body as { items: StoredEvent[] }).items;

async function forked(body?: object): Promise<Fork> {
  const answer = await post(`/api/conversations/${ID}/fork`, body);
  expect(answer.status).toBe(201);
  return answer.body as Fork;
}

/** Sends a message and gives the outputs of all commands when the run has ended. */
async function outputsAfterMessage({ id }: Fork): Promise<string[]> {
  await post(`/api/conversations/${id}/events`, message('go on'));
  await until(
    'the end',
    async () =>
      ((await get(`/api/conversations/${id}`)).body as Fork).execution_status === 'finished',
  );
  return outputs(await eventsOf(id));
}

it('a fork has the events and the secrets of its source, and continues on its own', async () => {
  await post(`/api/conversations/${ID}/secrets`, { secrets: { TOKEN: 'hidden-value' } });
  const before = await eventsOf(ID);
  const fork = await forked();
  expect(fork).toMatchObject({
    execution_status: 'idle',
    title: null,
    forked_from_conversation_id: ID,
    forked_from_event_id: null,
    secret_registry: { secret_sources: { TOKEN: {} } },
  });
  expect(await eventsOf(fork.id)).toEqual(before);
  expect((await outputsAfterMessage(fork)).map((text) => text.trim())).toEqual(['ONE', 'two']);
  expect(await eventsOf(ID)).toEqual(before);
});

it('a fork from an event has the events up to it, and carries out again what followed', async () => {
  const events = await eventsOf(ID);
  const from = events.findIndex(({ kind }) => kind === 'ActionEvent') - 1;
  const id = '22222222-2222-4333-8444-555555555555';
  const fork = await forked({
    id,
    title: 'Again',
    tags: { a: 'b' },
    from_event_id: events[from]?.id,
  });
  expect(fork).toMatchObject({
    id,
    title: 'Again',
    tags: { a: 'b' },
    forked_from_event_id: events[from]?.id,
  });
  expect(await eventsOf(id)).toEqual(events.slice(0, from + 1));
  expect((await outputsAfterMessage(fork)).map((text) => text.trim())).toEqual([
    'ONE HIDDEN-VALUE',
  ]);
  const again = await post(`/api/conversations/${ID}/fork`, { id });
  expect([again.status, again.body]).toEqual([
    409,
    { detail: `Conversation with id ${id} already exists` },
  ]);
});

it('a fork of an unknown conversation or from an unknown event is refused', async () => {
  const unknown = '00000000-0000-0000-0000-000000000000';
  expect((await post(`/api/conversations/${unknown}/fork`)).status).toBe(404);
  const { status, body } = await post(`/api/conversations/${ID}/fork`, { from_event_id: unknown });
  expect([status, body]).toEqual([404, { detail: `from_event_id ${unknown} not found` }]);
});
