import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openInBrowser } from '../../src/terminal/browser.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';
import { until } from '../support/test-clock.ts';

const URL = 'http://127.0.0.1:1/conversations/x?once=y';
const folder = folderOfEachTest();

/** A program in the folder that writes its name, its arguments and its keys to a file. */
async function program(name: string): Promise<string> {
  const file = path.join(folder.path, name);
  const [part, seen] = [path.join(folder.path, 'part'), path.join(folder.path, 'seen')];
  const print = `printf '%s\\n' '${name}' "$@" "key:$ACS_API_KEY$OPENHANDS_API_KEY"`;
  await writeFile(file, `#!/bin/sh\n${print} > '${part}' && /bin/mv '${part}' '${seen}'\n`, {
    mode: 0o755,
  });
  return file;
}

async function seen(): Promise<string[]> {
  const file = path.join(folder.path, 'seen');
  let text = '';
  await until(async () => (text = await readFile(file, 'utf8').catch(() => '')) !== '');
  await rm(file);
  return text.trimEnd().split('\n');
}

/** With the folder before the programs of the system, so that no other browser is found. */
const open = (env: Record<string, string>, platform = 'linux') => {
  const PATH = `${folder.path}:/usr/bin:/bin`;
  return openInBrowser(URL, {
    env: { PATH, ACS_API_KEY: 'key', OPENHANDS_API_KEY: 'another', ...env },
    platform,
  });
};

it('the browser in BROWSER gets the address, and no key of a server', async () => {
  const file = await program('my browser');
  expect(await open({ BROWSER: `"${file}" --new-window` })).toBe(true);
  expect(await seen()).toEqual(['my browser', '--new-window', URL, 'key:']);
});

it('%s in BROWSER stands for the address, and the next of several is tried when one is missing', async () => {
  await program('second');
  expect(await open({ BROWSER: '/nowhere/browser:second --url=%s end' })).toBe(true);
  expect(await seen()).toEqual(['second', `--url=${URL}`, 'end', 'key:']);
});

it.each<[string, string, Record<string, string>, string[]?]>([
  ['linux', 'xdg-open', { DISPLAY: ':0' }],
  ['linux', 'xdg-open', { WAYLAND_DISPLAY: 'wayland-0' }],
  ['linux', 'wslview', { WSL_DISTRO_NAME: 'Debian', PATH: 'FOLDER' }],
  ['darwin', 'open', {}],
  ['win32', 'rundll32', {}, ['url.dll,FileProtocolHandler']],
])('on %s %s gets the address with %j', async (platform, name, { PATH, ...env }, before = []) => {
  await program(name);
  expect(await open({ ...env, ...(PATH && { PATH: folder.path }) }, platform)).toBe(true);
  expect(await seen()).toEqual([name, ...before, URL, 'key:']);
});

it('without a desktop, or a program that can be started, there is no browser', async () => {
  await program('xdg-open');
  expect(await open({})).toBe(false);
  expect(await open({ BROWSER: '' })).toBe(false);
  const nowhere = path.join(folder.path, 'nowhere');
  expect(await open({ PATH: nowhere, DISPLAY: ':0', BROWSER: '/nowhere/browser' })).toBe(false);
});
