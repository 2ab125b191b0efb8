import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createContext } from '../../src/wire.ts';
import { useWorldAndProxy } from '../support/proxied-world.ts';
import { platformOf } from '../support/world.ts';

const at = useWorldAndProxy({ spec: 'process' });
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-connections-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

function contextOf(env: Record<string, string> = {}) {
  const base = { HOME: dir, ACS_CONFIG_DIR: path.join(dir, 'config'), ACS_DATA_DIR: path.join(dir, 'data') };
  const { platform, stderr } = platformOf({ args: [], cwd: dir, env: { ...base, ...env } });
  return { context: createContext(platform), err: () => stderr.bytes().toString('utf8') };
}

/** How many requests a context of its own sends before the server can be used with this key. */
async function probesWith(key: string): Promise<number> {
  const { context } = contextOf({ ACS_BASE_URL: at.proxy.url, ACS_API_KEY: key });
  const before = at.proxy.requests.length;
  await context.server().catch(() => undefined);
  await context.dispose();
  return at.proxy.requests.length - before;
}

it('what is known of a server is used again with the same key, and found out again with another', async () => {
  const first = await probesWith(at.world.service.key);
  expect(first).toBeGreaterThan(0);
  expect(await probesWith(at.world.service.key)).toBe(0);
  expect(await probesWith('another-key')).toBeGreaterThan(0);
});

it('the URL of a connected server is kept without its user name and password', async () => {
  const { context } = contextOf();
  const base_url = `${at.proxy.url.replace('//', '//user:hush@')}/base/`;
  await context.connect({ base_url, key: null }).catch(() => undefined);
  expect(context.connectedServers()).toEqual([`${at.proxy.url}/base`]);
  await context.dispose();
});

it('a dry run does not start the local service', async () => {
  const { context } = contextOf();
  context.globals = { ...context.globals, mode: 'dry-run', profile: 'local' };
  await expect(context.server()).rejects.toThrow('--dry-run does not start it');
  const service = await context.localService();
  expect(await service.running()).toBeNull();
});
