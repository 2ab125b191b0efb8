import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  await world.acs('settings', 'set', 'language=en'); // providers are read with the settings, where there are any
});
afterAll(() => world.close());

const planned = async (...flags: string[]) =>
  await world.acs('conv', 'new', '--no-repo', '--suggested-task', 'acme/app#7', '--dry-run', '--json', ...flags);

async function connect(...providers: string[]): Promise<void> {
  const tokens = Object.fromEntries(providers.map((name) => [name, { token: 'provider-token' }]));
  const answer = await fetch(`${world.service.url}/api/add-git-providers`, {
    method: 'POST',
    headers: { 'x-session-api-key': world.service.key, 'content-type': 'application/json' },
    body: JSON.stringify({ provider_tokens: tokens }),
  });
  expect(answer.status).toBe(200);
}

it('a suggested task given as repository and number has the only provider of the server', async () => {
  const none = await planned();
  expect({ code: none.code, err: none.err }).toMatchObject({
    code: 2,
    err: expect.stringContaining('add --git-provider') as string,
  });

  await connect('gitlab');
  const { out } = await planned();
  expect(JSON.parse(out)).toMatchObject({
    requests: [{ body: { suggested_task: { git_provider: 'gitlab', repo: 'acme/app', issue_number: 7 } } }],
  });

  await connect('gitlab', 'github');
  expect((await planned()).code).toBe(2);
  expect(JSON.parse((await planned('--git-provider', 'github')).out)).toMatchObject({
    requests: [{ body: { suggested_task: { git_provider: 'github' } } }],
  });
});
