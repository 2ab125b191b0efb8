import { expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';

const v1 = connectedV1();

it('the account has null members where users/me is 500, as on 1.6.0 before settings are stored', async () => {
  v1.on({ 'GET /api/v1/users/me': () => ({ status: 500, type: 'text/plain', text: 'Internal Server Error' }) });
  expect(await v1.server.account()).toEqual({ user: null, email: null, organization: null });
  expect(v1.world.fake.lines()).toEqual(['GET /api/v1/users/me']);
});
