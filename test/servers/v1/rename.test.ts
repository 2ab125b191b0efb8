import { expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { ID } from '../support/v1-world.ts';

const v1 = connectedV1();

it('a rename of a V1 conversation returns the new title', async () => {
  v1.world.addConversation();
  v1.on({
    [`PATCH /api/v1/app-conversations/${ID}`]: ({ body }) => ({
      json: v1.world.addConversation(body as Record<string, unknown>),
    }),
  });
  expect((await v1.server.conversations.rename(ID, 'new name')).title).toBe('new name');
});
