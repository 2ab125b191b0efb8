import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BIN } from '../../e2e/processes.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-folders-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const file = path.join(dir, 'file');
writeFileSync(file, '');

/**
 * In a process that is killed when it does not end: what is tested here once was a loop without
 * end.
 */
function acs(args: string[], env: Record<string, string>): Promise<{ code: unknown; err: string }> {
  const options = {
    env: { PATH: process.env.PATH, HOME: dir, ...env },
    timeout: 100_000,
    killSignal: 'SIGKILL' as const,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], options, (error, _out, err) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), err });
    });
  });
}

const ADD = [
  'login',
  'x',
  '--base-url',
  'http://127.0.0.1:9',
  '--no-check',
  '--key-command',
  'echo key',
];

// In /proc nothing can be created: Linux reports for every new name there that it does not exist.
describe.each(['/proc/acs', '/proc/acs/deeper/still', `${file}/below`])(
  'a directory %s',
  (folder) => {
    it('cannot hold the data of the local service: exit 3, with the path', async () => {
      const { code, err } = await acs(['serve', '--detach'], {
        ACS_DATA_DIR: folder,
        ACS_CONFIG_DIR: dir,
      });
      expect({ code, err }).toEqual({
        code: 3,
        err: expect.stringContaining(`the data directory ${folder}:`) as string,
      });
    });

    it('cannot hold the profiles: exit 3, with the path', async () => {
      const { code, err } = await acs(ADD, { ACS_CONFIG_DIR: folder });
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(folder) as string });
    });
  },
);

describe('a missing directory in a missing directory', () => {
  it('is created, readable by its owner alone', async () => {
    const config = path.join(dir, 'a', 'b', 'config');
    expect(await acs(ADD, { ACS_CONFIG_DIR: config })).toMatchObject({ code: 0 });
    expect(statSync(config).mode & 0o777).toBe(0o700);
  });
});

describe('a directory with other content, named by mistake as the data directory', () => {
  it('is refused with exit 3 and not changed, also when it has a folder with a name that acs uses', async () => {
    const project = path.join(dir, 'project');
    const thesis = path.join(project, 'workspaces', 'mine', 'thesis.txt');
    mkdirSync(path.dirname(thesis), { recursive: true });
    writeFileSync(thesis, 'years of work');
    chmodSync(project, 0o755);
    const { code, err } = await acs(['serve', '--detach'], {
      ACS_DATA_DIR: project,
      ACS_CONFIG_DIR: dir,
    });
    expect({ code, err }).toEqual({
      code: 3,
      err: expect.stringContaining('not of acs (workspaces)') as string,
    });
    expect([existsSync(thesis), statSync(project).mode & 0o777]).toEqual([true, 0o755]);
  });
});

describe('a data directory', () => {
  it.each([
    ['that is not there', null],
    ['that is open to others', 0o755],
  ])('%s is restricted to its owner afterwards', async (_what, mode) => {
    const data = path.join(dir, `data-${mode}`);
    if (mode !== null) {
      mkdirSync(data);
      chmodSync(data, mode);
      writeFileSync(path.join(data, 'service.log'), 'of a first start that was cut off');
    }
    const env = { ACS_DATA_DIR: data, ACS_CONFIG_DIR: dir };
    expect(await acs(['serve', '--detach'], env)).toMatchObject({ code: 0 });
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(await acs(['serve', '--stop'], env)).toMatchObject({ code: 0 });
  });
});
