import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND } from '../support/fake-server.ts';
import { ID } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('a stop of a V1 run', () => {
  it('interrupts a run, and pauses where the server is too old for that', async () => {
    v1.world.addConversation();
    const agent = `/agent/api/conversations/${ID}`;
    v1.on({ [`POST ${agent}/interrupt`]: () => ({ json: { success: true } }) });
    await v1.server.conversations.stop(ID);
    v1.on({
      [`POST ${agent}/interrupt`]: () => NOT_FOUND,
      [`POST ${agent}/pause`]: () => ({ json: { success: true } }),
    });
    await v1.server.conversations.stop(ID);
    expect(v1.world.fake.lines().filter((line) => line.startsWith('POST'))).toEqual([
      `POST ${agent}/interrupt`,
      `POST ${agent}/interrupt`,
      `POST ${agent}/pause`,
    ]);
  });

  it('names the next step when the sandbox is paused', async () => {
    v1.world.addConversation({ sandbox_status: 'PAUSED', conversation_url: null });
    const error = await failure(v1.server.conversations.stop(ID));
    expect([error.kind, error.details.hint]).toEqual(['conflict', 'resume it with: acs sandbox resume sb1']);
  });
});

const path = `/api/v1/app-conversations/${ID}`;

it('a V1 conversation is deleted with one request', async () => {
  v1.world.addConversation();
  v1.on({ [`DELETE ${path}`]: () => ({ json: { success: v1.world.conversations.delete(ID) } }) });
  await v1.server.conversations.remove(ID);
  expect(v1.world.fake.lines().filter((line) => line.startsWith('DELETE'))).toEqual([`DELETE ${path}`]);
});

it('a deletion of an unknown V1 conversation is not-found', async () => {
  v1.on({ [`DELETE ${path}`]: () => ({ status: 404, json: { detail: 'unknown' } }) });
  expect((await failure(v1.server.conversations.remove(ID))).kind).toBe('not-found');
});
