import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fileProblem } from '../../src/base/errors.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';

const folder = folderOfEachTest();

it.each([
  ['missing', 'it does not exist', 'check the path'],
  ['file/below', 'a part of its path is a file, not a folder', 'check the path'],
  ['folder', 'it is a folder', 'give the path of a file'],
  ['loop', 'its path is a loop of links', 'give the path of the file itself'],
  ['x'.repeat(300), 'its path is too long', 'give the path of a file, not its content'],
])('the reason why %s cannot be read is in words, with what to do', (name, reason, hint) => {
  writeFileSync(path.join(folder.path, 'file'), '');
  mkdirSync(path.join(folder.path, 'folder'));
  symlinkSync('loop', path.join(folder.path, 'loop'));
  const read = () => readFileSync(path.join(folder.path, name));
  expect(read).toThrow();
  try {
    read();
  } catch (error) {
    expect(fileProblem(error)).toEqual({ reason, hint });
  }
});

it.each([
  [{ code: 'EACCES' }, 'permission denied', 'check the permissions of the file'],
  [{ code: 'EPERM' }, 'the system does not permit it', 'check the permissions of the file'],
  [{ code: 'EIO' }, 'EIO', 'check that the path names a file that you can read'],
  [new Error('x'), 'unknown error', 'check that'],
  [null, 'unknown error', 'check that'],
])('%j has a reason and a next step', (error, reason, hint) => {
  expect(fileProblem(error)).toEqual({ reason, hint: expect.stringContaining(hint) as string });
});

it.runIf(existsSync('/dev/full'))('a full device is named when a write fails', () => {
  expect(() => writeFileSync('/dev/full', 'text')).toThrow(
    expect.objectContaining({ code: 'ENOSPC' }),
  );
  expect(fileProblem({ code: 'ENOSPC' }).reason).toBe('no space left on the device');
});
