import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { invoke, type Ended } from '../support/world.ts';

let dir: string;
let file: string;
const acs = (...args: string[]): Promise<Ended> =>
  invoke({ args, cwd: dir, env: { HOME: dir, ACS_CONFIG_DIR: dir, PATH: process.env.PATH } });
const mode = async () => ((await stat(file)).mode & 0o777).toString(8);

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-open-store-'));
  file = path.join(dir, 'profiles.json');
  await acs('profile', 'add', 'work', '--base-url', 'http://127.0.0.1:9', '--no-check', '--key-command', 'echo key-1');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it.each([0o644, 0o640, 0o606, 0o666])('a profile store of mode %o is set to 0600 with one notice', async (open) => {
  await chmod(file, open);
  const first = await acs('profile', 'list', '--json');
  expect(first.code, first.err).toBe(0);
  expect(
    first.err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ notice: expect.stringContaining(`(mode ${open.toString(8)}); its mode is now 0600`) as string }]);
  expect(await mode()).toBe('600');
  expect((await acs('profile', 'list')).err).toBe('');
});

it('a profile store of mode 600 or 400 is left as it is, without a notice', async () => {
  for (const closed of [0o600, 0o400]) {
    await chmod(file, closed);
    expect((await acs('profile', 'list')).err).toBe('');
    expect(await mode()).toBe(closed.toString(8));
  }
});

it('a command that reads a key from an open profile store closes it', async () => {
  await chmod(file, 0o644);
  const { code, err } = await acs('conv', 'list', '-p', 'work');
  expect({ code, err }).toEqual({ code: 10, err: expect.stringContaining('its mode is now 0600') as string });
  expect(await mode()).toBe('600');
});
