import { execFile } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { compileCacheFolder } from '../../src/local/compile-cache.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';

const base = folderOfEachTest();
let cache: string;
let folder: string;
const found = (uid = process.getuid?.()) =>
  compileCacheFolder({ env: { ACS_CONFIG_DIR: base.path }, platform: 'linux', home: '/', uid });

beforeEach(() => {
  cache = path.join(base.path, 'cache');
  folder = path.join(cache, 'compile');
});

describe('the folder of compiled code', () => {
  it('is made with the mode 0700 below the cache of acs', () => {
    expect(found()).toBe(folder);
    expect(found()).toBe(folder);
    expect([cache, folder].map((each) => lstatSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
  });

  it.each([
    ['others may write to it', () => chmodSync(folder, 0o702)],
    ['its group may read it', () => chmodSync(folder, 0o740)],
    ['its group may replace it', () => chmodSync(cache, 0o770)],
  ])('is not used when %s', (_, open) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    open();
    expect(found()).toBeNull();
  });

  it('is not used when another user owns it, or where there are no users', () => {
    expect(found()).toBe(folder);
    expect(found(lstatSync(folder).uid + 1)).toBeNull();
    const user = { env: { ACS_CONFIG_DIR: base.path }, platform: 'win32', home: '/' };
    expect(compileCacheFolder({ ...user, uid: undefined })).toBeNull();
  });

  it('is not used when it is a link or a file, or cannot be made', () => {
    mkdirSync(cache, { mode: 0o700 });
    const elsewhere = path.join(base.path, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, folder);
    expect(found()).toBeNull();
    const env = { ACS_CONFIG_DIR: path.join(base.path, 'file') };
    writeFileSync(env.ACS_CONFIG_DIR, '');
    const uid = process.getuid?.();
    expect(compileCacheFolder({ env, platform: 'linux', home: '/', uid })).toBeNull();
  });

  it('is written by a command where Node has a compile cache, and never by a page of help', async () => {
    const acs = path.resolve(import.meta.dirname, '..', '..', 'bin', 'acs.cjs');
    const env = { ACS_CONFIG_DIR: base.path, HOME: base.path };
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, [acs, ...args], { env });

    await run('--version');
    await run('conv', 'list', '--help');
    expect(existsSync(cache)).toBe(false);
    await run('profile', 'list');
    expect(existsSync(folder)).toBe('enableCompileCache' in module);
  });
});
