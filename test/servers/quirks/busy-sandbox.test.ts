import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createV1World, ID, KEY, type V1World } from '../../servers/support/v1-world.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke } from '../../support/world.ts';

let world: V1World;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

it('conv stop reports the stop when the run has stopped, not when the busy sandbox returns no status', async () => {
  const record = world.addConversation();
  let looks = 0;
  world.before = ({ method, path: route }) => {
    if (method === 'POST' && route.endsWith('/interrupt')) {
      record['execution_status'] = null;
      return { json: { success: true } };
    }
    if (record['execution_status'] === null && route === '/api/v1/app-conversations') looks += 1;
    if (looks === 12) record['execution_status'] = 'paused';
    return null;
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY };
  const args = ['conv', 'stop', ID, '--json'];
  const { code, out, err } = await invoke({ args, cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ status: 'paused', changed: true });
  expect(looks).toBe(12);
});

it('conv stop reports an unknown status, not a running run, when the sandbox never returns one', async () => {
  const record = world.addConversation();
  world.before = ({ method, path: route }) => {
    if (method !== 'POST' || !route.endsWith('/interrupt')) return null;
    record['execution_status'] = null;
    return { json: { success: true } };
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY };
  const { code, err } = await invoke({ args: ['conv', 'stop', ID], cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(124);
  expect(err).toContain('its sandbox reports no status');
});
