import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openInBrowser } from '../../src/terminal/browser.ts';
import { until } from '../support/until.ts';

const URL = 'http://127.0.0.1:1/conversations/x?once=y';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs browser '));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

/** A program in the folder that writes its name, its arguments and its keys to a file. */
async function program(name: string): Promise<string> {
  const file = path.join(dir, name);
  const body = `printf '%s\\n' ${name} "$@" "key:$ACS_API_KEY$OPENHANDS_API_KEY" > '${dir}/part' && mv '${dir}/part' '${dir}/seen'`;
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

async function seen(): Promise<string[]> {
  let text = '';
  await until(async () => (text = await readFile(path.join(dir, 'seen'), 'utf8').catch(() => '')) !== '');
  await rm(path.join(dir, 'seen'));
  return text.trimEnd().split('\n');
}

/** With the folder before the programs of the system, so that no other browser is found. */
const open = (env: Record<string, string>, platform = 'linux') => {
  const all = { PATH: `${dir}:/usr/bin:/bin`, ACS_API_KEY: 'key-of-a-server', OPENHANDS_API_KEY: 'another', ...env };
  return openInBrowser(URL, { env: all, platform });
};

test('the browser in BROWSER gets the address, and no key of a server', async () => {
  const file = await program('mine');
  expect(await open({ BROWSER: `"${file}" --new-window` })).toBe(true);
  expect(await seen()).toEqual(['mine', '--new-window', URL, 'key:']);
});

test('%s in BROWSER stands for the address, and the next of several is tried when one is missing', async () => {
  await program('second');
  expect(await open({ BROWSER: '/nowhere/browser:second --url=%s end' })).toBe(true);
  expect(await seen()).toEqual(['second', `--url=${URL}`, 'end', 'key:']);
});

test.each<Record<string, string>>([{ DISPLAY: ':0' }, { WAYLAND_DISPLAY: 'wayland-0' }])(
  'on a desktop of Linux xdg-open gets the address: %j',
  async (desktop) => {
    await program('xdg-open');
    expect(await open(desktop)).toBe(true);
    expect(await seen()).toEqual(['xdg-open', URL, 'key:']);
  },
);

test('under WSL without xdg-open wslview gets the address', async () => {
  await program('wslview');
  const env = { PATH: dir, WSL_DISTRO_NAME: 'Debian' };
  await writeFile(path.join(dir, 'mv'), '#!/bin/sh\nexec /bin/mv "$@"\n', { mode: 0o755 });
  expect(await open(env)).toBe(true);
  expect((await seen())[0]).toBe('wslview');
});

test.each([
  ['darwin', 'open', []],
  ['win32', 'rundll32', ['url.dll,FileProtocolHandler']],
] as const)('on %s %s gets the address', async (platform, name, before) => {
  await program(name);
  expect(await open({}, platform)).toBe(true);
  expect(await seen()).toEqual([name, ...before, URL, 'key:']);
});

test('without a desktop nothing is started, also when xdg-open is there', async () => {
  await program('xdg-open');
  expect(await open({})).toBe(false);
  expect(await open({ BROWSER: '' })).toBe(false);
});

test('there is no browser when no program can be started', async () => {
  expect(await open({ PATH: dir, DISPLAY: ':0', BROWSER: '/nowhere/browser' })).toBe(false);
});
