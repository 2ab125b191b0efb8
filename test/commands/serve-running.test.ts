import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { invoke } from '../support/world.ts';

const base = mkdtempSync(path.join(os.tmpdir(), 'acs-serve-running-'));
const dataDir = path.join(base, 'data');
const env = { PATH: process.env.PATH, HOME: base, ACS_CONFIG_DIR: path.join(base, 'config'), ACS_DATA_DIR: dataDir };
const acs = (...args: string[]) => invoke({ args, cwd: base, env });

let port = '';
beforeAll(async () => {
  const { out, err } = await acs('serve', '--detach', '--idle-timeout', '1h', '--json');
  expect(JSON.parse(out), err).toMatchObject({ changed: true });
  port = new URL((JSON.parse(out) as { url: string }).url).port;
});
afterAll(async () => {
  await acs('serve', '--stop');
  rmSync(base, { recursive: true, force: true });
});

it.each([
  ['--port', '1', 'on port'],
  ['--host', '0.0.0.0', 'on host 127.0.0.1 instead of 0.0.0.0'],
  ['--api', 'v0', 'with --api both instead of v0'],
  ['--idle-timeout', '30m', 'with --idle-timeout 1h instead of 30m'],
  ['--data-dir', 'elsewhere', `with its data in ${dataDir}`],
])(
  'serve %s %s that differs from the running service exits 6 and names what it runs with',
  async (flag, value, named) => {
    for (const form of [['--detach'], ['--detach', '--dry-run'], []]) {
      const { code, out, err } = await acs('serve', ...form, flag, value);
      expect({ code, out }, err).toEqual({ code: 6, out: '' });
      if (form.length > 0) expect(err).toContain(named);
      expect(err).toContain('acs serve --stop');
    }
  },
);

it('serve with the flags of the running service exits 0 and changes nothing', async () => {
  const flags = ['--host', 'localhost', '--port', port, '--data-dir', 'data', '--idle-timeout', '60m', '--api', 'both'];
  const { code, out } = await acs('serve', '--detach', ...flags, '--json');
  expect({ code, out: JSON.parse(out) as unknown }).toEqual({
    code: 0,
    out: expect.objectContaining({ changed: false, data_dir: dataDir }) as unknown,
  });
});
