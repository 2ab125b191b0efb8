import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  readSmallFile,
  readSmallRecord,
  refuseUnlessFile,
  refuseUnlessFolder,
  writePrivateFile,
} from '../../../src/service/lifecycle/small-file.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
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
    expect([readFileSync(at('a'), 'utf8'), statSync(at('a')).mode & 0o777]).toEqual(['after', 0o600]);
    expect(readdirSync(folder.path)).toEqual(['a']);
  });

  it('replaces a link to a file, and not the file behind it', () => {
    writeFileSync(at('mine'), 'mine');
    symlinkSync(at('mine'), at('a'));
    writePrivateFile(at('a'), 'written');
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('mine'), 'utf8')]).toEqual(['written', 'mine']);
  });
});

describe('a name that is taken', () => {
  it('by something that is not a file is refused', () => {
    mkdirSync(at('folder'));
    execFileSync('mkfifo', [at('pipe')]);
    symlinkSync('/nowhere/at/all', at('dangling'));
    writeFileSync(at('file'), '');
    symlinkSync(at('file'), at('link'));
    for (const name of ['file', 'link', 'missing']) refuseUnlessFile(at(name));
    const words = { folder: 'a directory', pipe: 'no file', dangling: 'a link to nothing' };
    for (const [name, what] of Object.entries(words)) {
      expect(() => {
        refuseUnlessFile(at(name));
      }).toThrow(`${at(name)} is ${what}`);
      expect(() => {
        writePrivateFile(at(name), 'x');
      }).toThrow(expect.objectContaining({ code: 'data-dir' }));
    }
    expect(readdirSync(folder.path).sort()).toEqual(['dangling', 'file', 'folder', 'link', 'pipe']);
  });

  it('by something that is not a folder is refused', () => {
    mkdirSync(at('folder'));
    writeFileSync(at('file'), '');
    symlinkSync('/nowhere/at/all', at('dangling'));
    for (const name of ['folder', 'missing']) refuseUnlessFolder(at(name));
    for (const [name, what] of Object.entries({ file: 'no directory', dangling: 'a link to nothing' })) {
      expect(() => {
        refuseUnlessFolder(at(name));
      }).toThrow(`${at(name)} is ${what}`);
    }
  });
});
