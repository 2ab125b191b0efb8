import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { invoke } from '../support/world.ts';

const base = mkdtempSync(path.join(os.tmpdir(), 'acs-serve-running-'));
const dataDir = path.join(base, 'data');
const env = { PATH: process.env.PATH, HOME: base, ACS_CONFIG_DIR: path.join(base, 'config'), ACS_DATA_DIR: dataDir };
const acs = (...args: string[]) => invoke({ args, cwd: base, env });

const FORMS = [['--detach'], ['--detach', '--dry-run'], [], ['--dry-run']];

let port = '';
let running: { pid: number; url: string };
beforeAll(async () => {
  const { out, err } = await acs('serve', '--detach', '--idle-timeout', '1h', '--json');
  expect(JSON.parse(out), err).toMatchObject({ changed: true });
  running = JSON.parse(out) as { pid: number; url: string };
  port = new URL(running.url).port;
  symlinkSync(dataDir, path.join(base, 'link'));
});
afterAll(async () => {
  await acs('serve', '--stop');
  rmSync(base, { recursive: true, force: true });
});

it.each([
  ['--port', '1', 'on port'],
  ['--host', '0.0.0.0', 'on host 127.0.0.1 instead of 0.0.0.0'],
  ['--api', 'v0', 'with --api both instead of v0'],
  ['--spec', 'process', 'without --spec process'],
  ['--idle-timeout', '30m', 'with --idle-timeout 1h instead of 30m'],
  ['--data-dir', 'elsewhere', `with its data in ${dataDir}`],
])(
  'serve %s %s that differs from the running service exits 6 and names what it runs with',
  async (flag, value, named) => {
    for (const form of FORMS) {
      const { code, out, err } = await acs('serve', ...form, flag, value);
      expect({ code, out }, err).toEqual({ code: 6, out: '' });
      expect(err).toContain(named);
      expect(err).toContain('acs serve --stop');
    }
  },
);

it.each([
  ['no flags', []],
  ['its flags', ['--host', 'localhost', '--data-dir', 'data', '--idle-timeout', '60m', '--api', 'both']],
  ['its port', ['--port', 'its own']],
  ['--port 0, which means any', ['--port', '0']],
  ['another name of its data directory', ['--data-dir', 'link']],
])('serve with %s beside the running service exits 0, prints where it runs and changes nothing', async (_, given) => {
  const flags = given.map((value) => (value === 'its own' ? port : value));
  const { pid, url } = running;
  const detached = await acs('serve', '--detach', ...flags, '--json');
  expect(JSON.parse(detached.out), detached.err).toMatchObject({ changed: false, pid, url });
  const foreground = await acs('serve', ...flags, '--json');
  expect({ code: foreground.code, err: foreground.err }).toEqual({
    code: 0,
    err: expect.stringContaining('it was already running') as string,
  });
  expect(JSON.parse(foreground.out)).toMatchObject({ type: 'ready', pid, url });
  for (const form of [['--dry-run'], ['--detach', '--dry-run']]) {
    expect(await acs('serve', ...form, ...flags)).toMatchObject({
      code: 0,
      out: `the local service is already running (pid ${String(pid)})\n`,
    });
  }
});
