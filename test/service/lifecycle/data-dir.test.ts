import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { defaultDataDir, inDatabase, inDataDir, prepareDataDir } from '../../../src/service/lifecycle/data-dir.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { readPort } from '../../../src/service/lifecycle/port-file.ts';
import { readSmallFile } from '../../../src/service/lifecycle/small-file.ts';
import { runningService } from '../../../src/service/lifecycle/status.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

const names = ['database', 'key', 'lock', 'startLock', 'state', 'port', 'log'] as const;
const odd = {
  'a pipe': (file: string) => execFileSync('mkfifo', [file]),
  'a folder': (file: string) => mkdirSync(path.join(file, 'of mine'), { recursive: true }),
  'a link to nothing': (file: string) => symlinkSync('/nowhere/at/all', file),
  'a link to a device': (file: string) => symlinkSync('/dev/zero', file),
};

describe('the data directory', () => {
  it.each([
    [{ ACS_DATA_DIR: '/x/y' }, 'linux', '/x/y'],
    [{}, 'linux', '/home/a/.local/share/acs'],
    [{ XDG_DATA_HOME: '/data' }, 'linux', '/data/acs'],
    [{ XDG_DATA_HOME: 'relative', ACS_DATA_DIR: '' }, 'linux', '/home/a/.local/share/acs'],
    [{}, 'darwin', '/home/a/Library/Application Support/acs'],
  ])('for %j on %s is %s', (env, platform, expected) => {
    expect(defaultDataDir(env, platform, '/home/a')).toBe(expected);
  });

  it('is created for its owner alone, and named when it cannot be created', () => {
    prepareDataDir(path.join(folder.path, 'a', 'b'));
    expect(existsSync(path.join(folder.path, 'a', 'b'))).toBe(true);
    writeFileSync(path.join(folder.path, 'file'), '');
    expect(() => {
      prepareDataDir(path.join(folder.path, 'file', 'inside'));
    }).toThrow(/cannot use the data directory .*: a part of the path is not a directory/);
  });
});

describe('a failure in the data directory', () => {
  it.each([
    [{ code: 'ENOSPC' }, 'the disk is full'],
    [{ code: 'SQLITE_FULL' }, 'the disk is full'],
    [{ code: 'EROFS' }, 'the file system is read-only'],
  ])('for %j is reported with its cause', (members, words) => {
    const refuse = (): never => {
      throw Object.assign(new Error('x'), members);
    };
    expect(() => inDataDir(folder.path, refuse)).toThrow(`cannot use the data directory ${folder.path}: ${words}`);
  });

  it('because of a damaged database found later has the same hint', () => {
    const refuse = (): never => {
      throw new Error('database disk image is malformed');
    };
    try {
      inDataDir(folder.path, refuse);
    } catch (error) {
      expect(error).toMatchObject({ code: 'data-dir', hint: expect.stringMatching(/^Move .+ away/) });
      return;
    }
    expect.unreachable();
  });

  it('because of a damaged database names it, with a hint', () => {
    const database = path.join(folder.path, 'service.db');
    const refuse = (): never => {
      throw new Error('file is not a database');
    };
    expect(() => inDatabase(folder.path, database, refuse)).toThrow(`${database} is damaged: file is not a database`);
    try {
      inDatabase(folder.path, database, refuse);
    } catch (error) {
      expect(error).toMatchObject({ code: 'data-dir', hint: expect.stringMatching(/^Move .+ away/) });
    }
  });
});

describe('a data directory that was used before', () => {
  beforeEach(() => {
    writeFileSync(dataPaths(folder.path).database, '');
  });

  describe.each(names)('where the %s of a service should be', (name) => {
    it.each(Object.entries(odd))('%s is refused by name, and left as it is', (what, make) => {
      const file = dataPaths(folder.path)[name];
      rmSync(file, { force: true });
      make(file);
      expect(() => {
        prepareDataDir(folder.path);
      }).toThrow(
        expect.objectContaining({ code: 'data-dir', message: expect.stringContaining(`${file} is `) as string }),
      );
      // Reading it neither waits nor fails, and no service is taken for a running one.
      expect(readSmallFile(file)).toBeNull();
      expect(readPort(file)).toBe(0);
      expect(runningService(folder.path)).toBeNull();
      if (what === 'a folder') expect(existsSync(path.join(file, 'of mine'))).toBe(true);
    });
  });

  describe('where a folder of a service should be', () => {
    it.each(['workspaces', 'events', 'staging'] as const)('a file at %s is refused', (name) => {
      writeFileSync(dataPaths(folder.path)[name], 'mine');
      expect(() => {
        prepareDataDir(folder.path);
      }).toThrow(`${dataPaths(folder.path)[name]} is no directory`);
    });
  });
});
