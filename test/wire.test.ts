import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createContext } from '../src/wire.ts';
import { type Invocation, platformOf } from './support/world.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-wire-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

function contextOf(env: Record<string, string>, more: Partial<Invocation> = {}) {
  const { platform, stderr } = platformOf({ args: [], cwd: dir, env: { HOME: dir, ...env }, ...more });
  return { context: createContext(platform), err: () => stderr.bytes().toString('utf8') };
}

it('a member that could not be made is made again, and one that was made is kept', async () => {
  const { context } = contextOf({ ACS_BASE_URL: 'http://127.0.0.1:9' });
  context.globals = { ...context.globals, apiKeyFile: 'key' };
  await expect(context.target()).rejects.toThrow(/key/);
  writeFileSync(path.join(dir, 'key'), 'the-key\n', { mode: 0o600 });
  const target = await context.target();
  expect(target).toMatchObject({ base_url: 'http://127.0.0.1:9', key: 'the-key' });
  rmSync(path.join(dir, 'key'));
  expect(await context.target()).toBe(target);
});

it('keys of the environment are masked in notices, also those that are not used', async () => {
  const { context, err } = contextOf({ ACS_API_KEY: 'hush-one-1', OPENHANDS_API_KEY: 'hush-two-2' });
  await context.notice('given: hush-one-1, hush-two-2');
  await context.warn('given: hush-two-2');
  expect(err()).toContain('given');
  expect(err()).not.toContain('hush');
});

it('the output follows the flags that are set last', () => {
  const { context } = contextOf({});
  const before = context.out;
  expect(context.out).toBe(before);
  context.globals = { ...context.globals, format: 'json' };
  expect(context.out).not.toBe(before);
});

it.each<[string, Record<string, string>, Partial<Invocation>, boolean]>([
  ['on a terminal', {}, { columns: 80 }, true],
  ['on a terminal with CI=false', { CI: 'false' }, { columns: 80 }, true],
  ['on a terminal under CI', { CI: '1' }, { columns: 80 }, false],
  ['off a terminal', {}, {}, false],
])('a command %s may ask or is refused with usage', async (_, env, more, mayAsk) => {
  const { context } = contextOf(env, more);
  expect([context.interactive, context.offTerminal]).toEqual([mayAsk, !mayAsk]);
  if (!mayAsk) await expect(context.prompt()).rejects.toMatchObject({ kind: 'usage' });
});
