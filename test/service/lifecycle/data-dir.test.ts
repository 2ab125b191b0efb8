import path from 'node:path';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { readSmallFile, readSmallRecord } from '../../../src/base/small-file.ts';
import {
  dataPaths,
  defaultDataDir,
  inDataDir,
  prepareDataDir,
} from '../../../src/service/lifecycle/data-dir.ts';
import {
  readPort,
  ensureKey,
  readKey,
  writePrivateFile,
} from '../../../src/service/lifecycle/small-file.ts';
import { runningService } from '../../../src/service/lifecycle/state-file.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

const names = ['database', 'key', 'lock', 'startLock', 'state', 'port', 'log'] as const;
const odd = {
  'a pipe': (file: string) => execFileSync('mkfifo', [file]),
  'a folder': (file: string) => mkdirSync(path.join(file, 'of mine'), { recursive: true }),
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

  it('is for its owner alone, with its files and folders, also when a copy gave them other modes', () => {
    const { workspaces, events, key, log } = dataPaths(folder.path);
    for (const name of [workspaces, events]) mkdirSync(name);
    writeFileSync(dataPaths(folder.path).database, '');
    for (const name of [key, log]) writeFileSync(name, '');
    for (const name of [folder.path, workspaces, events]) chmodSync(name, 0o755);
    for (const name of [key, log]) chmodSync(name, 0o644);
    prepareDataDir(folder.path);
    const modes = [folder.path, workspaces, events, key, log].map(
      (name) => statSync(name).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600, 0o600]);
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
    [
      { code: 'ENOSPC' },
      'the disk is full',
      'free space in it, or set ACS_DATA_DIR to a folder that you can write',
    ],
    [
      { code: 'SQLITE_FULL' },
      'the disk is full',
      'free space in it, or set ACS_DATA_DIR to a folder that you can write',
    ],
    [
      { code: 'EROFS' },
      'the file system is read-only',
      'set ACS_DATA_DIR to a folder that you can write',
    ],
  ])('for %j is reported with its cause and a step that removes it', (members, words, hint) => {
    const refuse = (): never => {
      throw Object.assign(new Error('x'), members);
    };
    const message = `cannot use the data directory ${folder.path}: ${words}`;
    expect(() => inDataDir(folder.path, refuse)).toThrow(
      expect.objectContaining({ message, hint }),
    );
  });

  it('because of a damaged database names the file, with a hint', () => {
    const refuse = (): never => {
      throw new Error('file is not a database');
    };
    expect(() => inDataDir(folder.path, refuse)).toThrow(
      expect.objectContaining({
        code: 'data-dir',
        message: `${dataPaths(folder.path).database} is damaged: file is not a database`,
        hint: expect.stringMatching(/^Move .+ away/) as string,
      }),
    );
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
        expect.objectContaining({
          code: 'data-dir',
          message: expect.stringContaining(`${file} is not a file`) as string,
        }),
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
      }).toThrow(`${dataPaths(folder.path)[name]} is not a directory`);
    });
  });
});

const at = (name: string): string => path.join(folder.path, name);

describe('a small file', () => {
  it('is read up to 64 KiB', () => {
    writeFileSync(at('a'), 'ü'.repeat(32 * 1024));
    expect(readSmallFile(at('a'))).toBe('ü'.repeat(32 * 1024));
    writeFileSync(at('a'), 'a'.repeat(64 * 1024 + 1));
    expect(readSmallFile(at('a'))).toBeNull();
  });

  it.each([
    ['{"a":1}', { a: 1 }],
    ['[1]', [1]],
    ['null', null],
    ['5', null],
    ['"text"', null],
    ['{"a":', null],
    ['', null],
  ])('with the text %s is read as %j', (text, value) => {
    writeFileSync(at('a'), text);
    expect(readSmallRecord(at('a'))).toEqual(value);
  });

  it('is written for its owner alone, and replaces one that others can read', () => {
    writeFileSync(at('a'), 'before', { mode: 0o644 });
    writePrivateFile(at('a'), 'after');
    expect([readFileSync(at('a'), 'utf8'), statSync(at('a')).mode & 0o777]).toEqual([
      'after',
      0o600,
    ]);
    expect(readdirSync(folder.path)).toEqual(['a']);
  });

  it('replaces a link to a file, not the file behind it, and nothing that is no file', () => {
    writeFileSync(at('mine'), 'mine');
    symlinkSync(at('mine'), at('a'));
    writePrivateFile(at('a'), 'written');
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('mine'), 'utf8')]).toEqual([
      'written',
      'mine',
    ]);
    expect(() => writePrivateFile(folder.path, 'x')).toThrow(`${folder.path} is not a file`);
  });
});

describe('the key of a service', () => {
  it('is made once, for its owner alone', () => {
    expect(readKey(at('key'))).toBeNull();
    const made = ensureKey(at('key'));
    expect(made).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect([ensureKey(at('key')), readKey(at('key'))]).toEqual([made, made]);
    expect(statSync(at('key')).mode & 0o777).toBe(0o600);
  });

  it('may be one that the user wrote, with spaces around it', () => {
    writeFileSync(at('key'), '\n  of-the-user-0123456789  \n');
    expect(ensureKey(at('key'))).toBe('of-the-user-0123456789');
  });

  it.each(['', 'short', 'with spaces in it, and long enough'])(
    'is not replaced when it is invalid: %j',
    (text) => {
      writeFileSync(at('key'), text);
      expect(() => ensureKey(at('key'))).toThrow(`${at('key')} holds no key`);
      expect(readFileSync(at('key'), 'utf8')).toBe(text);
    },
  );
});

it.each([
  ['1\n', 1],
  [' 65535 ', 65_535],
  ['65536', 0],
  ['0', 0],
  ['1.5', 0],
  ['80 81', 0],
  ['', 0],
])('a port file with %j names the port %i', (text, port) => {
  writeFileSync(at('port'), text);
  expect(readPort(at('port'))).toBe(port);
});
