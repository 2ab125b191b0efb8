import { expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { ID } from '../support/v1-world.ts';

const v1 = connectedV1();

it('a list by sandbox leaves out conversations of other sandboxes where the server ignores the filter', async () => {
  const one = { ...v1.world.addConversation(), id: '1'.repeat(32), sandbox_id: 'one' };
  const other = { ...v1.world.addConversation(), id: ID, sandbox_id: 'other' };
  v1.on({
    'GET /api/v1/app-conversations/search': () => ({ json: { items: [one, other], next_page_id: null } }),
  });
  const { items } = await v1.server.conversations.list({ sandboxId: 'other' }, null);
  expect(items.map(({ id }) => id)).toEqual([ID]);
});
