import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createContext } from '../../src/cli/create-context.ts';
import type { NewKey } from '../../src/local/profiles/resolve.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';
import { until } from '../support/test-clock.ts';
import { useWorld } from '../support/use-world.ts';
import { type Invocation, platformOf } from '../support/world.ts';

const at = useWorld({ spec: 'process' });
const folder = folderOfEachTest();

function contextOf(env: Record<string, string> = {}, more: Partial<Invocation> = {}) {
  const dir = folder.path;
  const base = {
    HOME: dir,
    PATH: process.env.PATH,
    ACS_CONFIG_DIR: `${dir}/config`,
    ACS_DATA_DIR: `${dir}/data`,
  };
  const { platform, stderr } = platformOf({
    args: [],
    cwd: dir,
    env: { ...base, ...env },
    ...more,
  });
  return { context: createContext(platform), err: () => stderr.bytes().toString('utf8') };
}

it('a member that could not be made is made again, and one that was made is kept', async () => {
  const { context } = contextOf({ ACS_BASE_URL: 'http://127.0.0.1:9' });
  context.globals = { ...context.globals, apiKeyFile: 'key' };
  await expect(context.servers.target()).rejects.toThrow(/key/);
  writeFileSync(path.join(folder.path, 'key'), 'the-key\n', { mode: 0o600 });
  const target = await context.servers.target();
  expect(target).toMatchObject({ base_url: 'http://127.0.0.1:9', key: 'the-key' });
  rmSync(path.join(folder.path, 'key'));
  expect(await context.servers.target()).toBe(target);
});

it('keys of the environment are masked in notices, also those that are not used', async () => {
  const { context, err } = contextOf({
    ACS_API_KEY: 'hush-one-1',
    OPENHANDS_API_KEY: 'hush-two-2',
  });
  await context.notice('given: hush-one-1, hush-two-2');
  await context.warn('given: hush-two-2');
  expect(err()).toContain('given');
  expect(err()).not.toContain('hush');
});

it('a key is masked in a question, its choices and the reason for which an answer is refused', async () => {
  const { context, err } = contextOf({}, { columns: 80 });
  const keys = context.terminal.io.stdin.raw as PassThrough;
  const prompt = await context.terminal.prompt();
  const validate = (value: string) => {
    context.terminal.keepSecret(value);
    return `Incorrect API key provided: Bearer ${value}`;
  };
  const typed = prompt.secret({ message: 'Key', validate });
  typed.catch(() => undefined);
  await until(() => err().includes('Key'));
  keys.write('hush-one-1\n');
  await until(() => err().includes('Incorrect API key'));
  keys.write('\x03');
  await expect(typed).rejects.toMatchObject({ kind: 'interrupted' });
  const choice = { value: 'a', name: 'hush-one-1', description: 'hush-one-1' };
  const chosen = prompt.select({ message: 'Use hush-one-1?', choices: [choice] });
  await until(() => err().includes('Use '));
  keys.write('\n');
  expect(await chosen).toBe('a');
  expect(err()).not.toContain('hush');
});

it.each<[string, Record<string, string>, Partial<Invocation>, boolean]>([
  ['on a terminal', {}, { columns: 80 }, true],
  ['on a terminal with CI=false', { CI: 'false' }, { columns: 80 }, true],
  ['on a terminal under CI', { CI: '1' }, { columns: 80 }, false],
  ['off a terminal', {}, {}, false],
])('a command %s may ask or is refused with usage', async (_, env, more, mayAsk) => {
  const { context } = contextOf(env, more);
  expect([context.terminal.interactive, context.terminal.offTerminal]).toEqual([mayAsk, !mayAsk]);
  if (!mayAsk) await expect(context.terminal.prompt()).rejects.toMatchObject({ kind: 'usage' });
});

it('a key file is relative to the working directory, and - is stdin', async () => {
  writeFileSync(path.join(folder.path, 'key'), 'from-file\n', { mode: 0o600 });
  const { context } = contextOf({}, { stdin: 'from-stdin\n' });
  const keys: unknown[] = [];
  for (const from of [
    { from: 'file', path: 'key' },
    { from: 'stdin' },
    { from: 'none' },
  ] satisfies NewKey[])
    keys.push(await context.profiles.readKey(from));
  expect(keys).toEqual(['from-file', 'from-stdin', null]);
});

it('a key command runs in the working directory, with those keys of the environment alone that it names', async () => {
  const { context } = contextOf({ ACS_API_KEY: 'hush-1', OPENHANDS_API_KEY: 'hush-2' });
  const printed = (command: string) => context.profiles.readKey({ from: 'command', command });
  expect(await printed('basename "$PWD"')).toBe(path.basename(folder.path));
  expect(await printed('env | grep -c hush; true')).toBe('0');
  expect(await printed('echo "$ACS_API_KEY-$(env | grep -c hush)"')).toBe('hush-1-1');
  await expect(printed('echo broken >&2; exit 3')).rejects.toThrow(/3/);
});

it('the store of profiles is not read where the server is named, even when it cannot be', async () => {
  writeFileSync(path.join(folder.path, 'file'), '');
  const { context } = contextOf({ ACS_CONFIG_DIR: path.join(folder.path, 'file', 'config') });
  context.globals = { ...context.globals, baseUrl: 'http://127.0.0.1:9/' };
  expect(await context.servers.plan()).toMatchObject({
    base_url: 'http://127.0.0.1:9',
    profile: null,
    local: false,
  });
});

it('what is known of a server is used again with the same key, and found out again with another', async () => {
  /** How many requests a context of its own sends before the server can be used with this key. */
  const probesWith = async (key: string): Promise<number> => {
    const { context } = contextOf({ ACS_BASE_URL: at.server.url, ACS_API_KEY: key });
    const before = at.server.asked.length;
    await context.servers.active().catch(() => undefined);
    await context.dispose();
    return at.server.asked.length - before;
  };
  const { key } = at.world.service;
  expect(await probesWith(key)).toBeGreaterThan(0);
  expect(await probesWith(key)).toBe(0);
  expect(await probesWith('another-key')).toBeGreaterThan(0);
});

it('the URL of a connected server is kept without its user name and password', async () => {
  const { context } = contextOf();
  const base_url = `${at.server.url.replace('//', '//user:hush@')}/base/`;
  await context.servers.connect({ base_url, key: null }).catch(() => undefined);
  expect(context.servers.urls()).toEqual([`${at.server.url}/base`]);
  await context.dispose();
});

it('a dry run does not start the local service', async () => {
  const { context } = contextOf();
  context.globals = { ...context.globals, mode: 'dry-run', profile: 'local' };
  await expect(context.servers.active()).rejects.toThrow('--dry-run does not start it');
  expect(await (await context.local.service()).running()).toBeNull();
});
