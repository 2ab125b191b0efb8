import { expect, it } from 'vitest';
import { invoke } from '../support/world.ts';

/** Nothing listens there: what is wrong in flags is found out before any request. */
const acs = (...args: string[]) =>
  invoke({ args, cwd: '/', env: { ACS_BASE_URL: 'http://127.0.0.1:9', ACS_API_KEY: 'unused-key' } });

const ID = 'f'.repeat(32);

it.each([
  ['--wait-timeout', '--wait or --follow', ['conv', 'send', ID, 'hello']],
  ['--timeout', '--wait or --follow', ['conv', 'send', ID, 'hello']],
  ['--wait-timeout', '--wait or --follow', ['conv', 'resume', ID]],
  ['--timeout', '--follow', ['conv', 'events', ID]],
])('%s without the wait that it limits is refused: it needs %s', async (flag, needs, command) => {
  const { code, err } = await acs(...command, flag, '5m');
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(`${flag} needs ${needs}`) as string });
});
