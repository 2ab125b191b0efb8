import { expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { ID } from '../support/v1-world.ts';

const v1 = connectedV1();

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
