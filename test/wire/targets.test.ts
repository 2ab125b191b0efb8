import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewKey } from '../../src/profiles/resolve.ts';
import { createContext } from '../../src/wire.ts';
import { createTargets } from '../../src/wire/targets.ts';
import { type Invocation, platformOf } from '../support/world.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-targets-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

function targetsOf(env: Record<string, string> = {}, more: Partial<Invocation> = {}) {
  const base = { HOME: dir, PATH: process.env['PATH'], ACS_CONFIG_DIR: path.join(dir, 'config') };
  const { platform } = platformOf({ args: [], cwd: dir, env: { ...base, ...env }, ...more });
  const context = createContext(platform);
  return { context, targets: createTargets(platform, context) };
}

it('a key file is relative to the working directory, and - is stdin', async () => {
  writeFileSync(path.join(dir, 'key'), 'from-file\n', { mode: 0o600 });
  const { targets } = targetsOf({}, { stdin: 'from-stdin\n' });
  const keys: unknown[] = [];
  for (const from of [{ from: 'file', path: 'key' }, { from: 'stdin' }, { from: 'none' }] satisfies NewKey[]) {
    keys.push(await targets.newKey(from));
  }
  expect(keys).toEqual(['from-file', 'from-stdin', null]);
});

it('a key command runs in the working directory, with those keys of the environment alone that it names', async () => {
  const { targets } = targetsOf({ ACS_API_KEY: 'hush-1', OPENHANDS_API_KEY: 'hush-2' });
  const printed = (command: string) => targets.newKey({ from: 'command', command });
  expect(await printed('basename "$PWD"')).toBe(path.basename(dir));
  expect(await printed('env | grep -c hush; true')).toBe('0');
  expect(await printed('echo "$ACS_API_KEY-$(env | grep -c hush)"')).toBe('hush-1-1');
});

it('a key command that fails ends with its reason', async () => {
  const { targets } = targetsOf();
  await expect(targets.newKey({ from: 'command', command: 'echo broken >&2; exit 3' })).rejects.toThrow(/3/);
});

it('the store of profiles is not read where the server is named, even when it cannot be', async () => {
  const broken = path.join(dir, 'file');
  writeFileSync(broken, '');
  const { targets, context } = targetsOf({ ACS_CONFIG_DIR: path.join(broken, 'config') });
  context.globals = { ...context.globals, baseUrl: 'http://127.0.0.1:9/' };
  expect(await targets.plan()).toMatchObject({ base_url: 'http://127.0.0.1:9', profile: null, local: false });
});
