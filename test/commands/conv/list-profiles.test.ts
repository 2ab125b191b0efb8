/** `conv list --all-profiles`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createV1World, ID, KEY, OTHER_ID, type V1World } from '../../client/support/v1-server.ts';
import { startFake, type FakeServer } from '../../support/server.ts';
import { idleClock } from '../../support/test-clock.ts';
import { useWorld } from '../../support/use-world.ts';

const at = useWorld({
  noun: 'conv',
  target: 'none',
  script: () => ({ silence: true }),
  clock: () => idleClock(30),
});
const LIST = 'list --all-profiles --fields id,profile';
let [one, two]: V1World[] = [];
let keyless: FakeServer;

async function login(name: string, url: string, key?: string): Promise<void> {
  const line = ['login', name, '--base-url', url, '--no-check'];
  const withKey = key === undefined ? {} : { stdin: key };
  const args = key === undefined ? line : [...line, '--api-key-file', '-'];
  expect(await at.invoke({ args, ...withKey })).toMatchObject({ code: 0 });
}

beforeEach(async () => {
  [one, two] = [await createV1World(), await createV1World()];
  keyless = await startFake(() => ({ status: 401, json: { detail: 'Unauthorized' } }));
  one.addConversation({ id: ID, created_at: '2026-11-21T10:00:00Z' });
  two.addConversation({ id: OTHER_ID, created_at: '2026-11-21T11:00:00Z' });
  await login('one', one.fake.url, KEY);
  await login('two', two.fake.url, KEY);
});
afterEach(() => Promise.all([one?.close(), two?.close(), keyless.close()]));

describe('conv list --all-profiles', () => {
  it('lists the conversations of all servers, newest first, with their profile', async () => {
    await at.ends(LIST, { out: `${OTHER_ID}\ttwo\n${ID}\tone\n`, err: '' });
    const items = [
      { id: OTHER_ID, profile: 'two', title: 'A title' },
      { id: ID, profile: 'one' },
    ];
    await at.ends('list --all-profiles --json', { out: { items, has_more: false } });
    await at.ends('list --all-profiles --no-color', {
      columns: 80,
      out: /^ID {8}PROFILE {2}STATUS /,
    });
  });

  it('applies --limit to all of them', async () => {
    const more = 'more results are available';
    await at.ends(`${LIST} -L 1`, { out: `${OTHER_ID}\ttwo\n`, err: more });
  });

  it('adds up the costs of all servers with --cost', async () => {
    const stats = { usage_to_metrics: { agent: { accumulated_cost: 0.5 } } };
    for (const world of [one, two]) {
      Object.assign(world?.agentState ?? {}, { stats });
      for (const record of world?.conversations.values() ?? [])
        record['execution_status'] = 'finished';
    }
    await at.ends('list --all-profiles --cost --json', { out: { total: { cost_usd: 1 } } });
  });

  it('warns of a server that does not answer or refuses, and exits 1 with the others', async () => {
    await login('silent', at.server.url, 'another-key-0123456789');
    await login('keyless', keyless.url);
    const ended = await at.ends(LIST, {
      code: 1,
      out: `${OTHER_ID}\ttwo\n${ID}\tone\n`,
      err: [/warning: silent: .*(did not answer within 15s|sent nothing)/, 'warning: keyless: '],
    });
    expect(ended.err).not.toContain('another-key');
    await at.ends(`list --all-profiles -q`, { code: 1, err: 'error: keyless: ' });
  });

  it('sends a key of the environment to no server', async () => {
    await login('keyless', keyless.url);
    const secret = 'environment-key-0123456789';
    await at.ends(LIST, {
      code: 1,
      env: { ACS_API_KEY: secret, ACS_BASE_URL: keyless.url },
      err: 'ACS_API_KEY is set but not used',
    });
    expect(keyless.asked.length).toBeGreaterThan(0);
    const sent = [...keyless.asked, ...(one?.fake.asked ?? []), ...(two?.fake.asked ?? [])];
    expect(JSON.stringify(sent.map(({ headers }) => headers))).not.toContain(secret);
    expect(JSON.stringify(keyless.asked.map(({ headers }) => headers))).not.toContain(KEY);
  });

  it('exits 3 without a profile while no local service runs', async () => {
    await at.invoke({ args: ['profile', 'delete', 'one', 'two', '-y'] });
    await at.ends(LIST, { code: 3, err: 'no profile is stored, and the local service does not' });
  });

  at.rows({
    'exits 2 with a flag that names a server': {
      acs: 'list --all-profiles -p one',
      code: 2,
      err: '--all-profiles cannot be combined with --profile',
    },
    'cannot be watched': { acs: 'list --all-profiles --watch', code: 2 },
  });
});
