/** The deadline of a command that waits also ends what precedes its first request. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isHeld, takeLock } from '../../../src/base/lock.ts';
import { dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import { isAlive } from '../../../src/base/process.ts';
import { invoke, type Ended } from '../../support/world.ts';

const ID = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';

let dir: string;
let dataDir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-start-deadline-'));
  dataDir = path.join(dir, 'data');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function acs(...args: string[]): Promise<Ended> {
  const env = {
    HOME: dir,
    PATH: process.env.PATH,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_DATA_DIR: dataDir,
  };
  return invoke({ args, cwd: dir, env, root: dir });
}

const COMMANDS = [
  ['conv wait', ['conv', 'wait', ID]],
  ['conv follow', ['conv', 'follow', ID]],
  ['sandbox pause', ['sandbox', 'pause', 'sandbox-1']],
  ['conv new --wait', ['conv', 'new', 'hello', '--no-repo', '--wait']],
] as const;

describe('--wait-timeout while the local service does not start', () => {
  it.each(COMMANDS)(
    '%s ends with 124 while another command holds the lock of the start',
    async (_, args) => {
      await mkdir(dataDir, { mode: 0o700 });
      const lock = takeLock(dataPaths(dataDir).startLock);
      if (!isHeld(lock)) throw new Error('the lock is not free');
      const ended = await acs('-p', 'local', ...args, '--wait-timeout', '300ms', '--json');
      lock.release();
      expect(ended.code, ended.err).toBe(124);
    },
  );

  it('ends with 124 and ends the process that does not listen', async () => {
    await mkdir(path.join(dir, 'dist'));
    const pidFile = path.join(dir, 'pid');
    const program =
      `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); ` +
      'setInterval(() => {}, 1000);';
    await writeFile(path.join(dir, 'dist', 'service.js'), program);
    const ended = await acs('-p', 'local', 'conv', 'wait', ID, '--wait-timeout', '2s', '--json');
    expect(ended.code, ended.err).toBe(124);
    // None: it was ended before it wrote its pid.
    const pid = await readFile(pidFile, 'utf8').catch(() => null);
    await expect.poll(() => pid !== null && isAlive({ pid: Number(pid), start: null })).toBe(false);
  });
});

it('--wait-timeout ends a key command that does not end', async () => {
  await mkdir(path.join(dir, 'config'), { mode: 0o700 });
  const add = await acs(
    'login',
    'slow',
    '--base-url',
    'http://127.0.0.1:9',
    '--no-check',
    '--key-command',
    'sleep 1000',
  );
  expect(add.code, add.err).toBe(0);
  const ended = await acs('-p', 'slow', 'conv', 'wait', ID, '--wait-timeout', '300ms', '--json');
  expect(ended.code, ended.err).toBe(124);
});
