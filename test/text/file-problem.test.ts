import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fileProblem } from '../../src/text/file-problem.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';

const folder = folderOfEachTest();

function problemOf(file: string) {
  try {
    readFileSync(file);
  } catch (error) {
    return fileProblem(error);
  }
  throw new Error(`${file} could be read`);
}

it('the reason why a file cannot be read is in words, with what to do', () => {
  const inFolder = (name: string) => path.join(folder.path, name);
  writeFileSync(inFolder('file'), '');
  mkdirSync(inFolder('folder'));
  symlinkSync('loop', inFolder('loop'));

  expect(problemOf(inFolder('missing'))).toEqual({ reason: 'it does not exist', hint: 'check the path' });
  expect(problemOf(inFolder('file/below'))).toEqual({
    reason: 'a part of its path is a file, not a folder',
    hint: 'check the path',
  });
  expect(problemOf(inFolder('folder'))).toEqual({ reason: 'it is a folder', hint: 'give the path of a file' });
  expect(problemOf(inFolder('loop'))).toEqual({
    reason: 'its path is a loop of links',
    hint: 'give the path of the file itself',
  });
  expect(problemOf(inFolder('x'.repeat(300)))).toEqual({
    reason: 'its path is too long',
    hint: 'give the path of a file, not its content',
  });
});

it.each(['EACCES', 'EPERM'])('%s names the permissions', (code) => {
  expect(fileProblem({ code })).toEqual({
    reason: expect.stringContaining('permi') as string,
    hint: expect.stringContaining('check the permissions of the file') as string,
  });
});

it('another error is named by its code, and a value without a code as unknown', () => {
  expect(fileProblem({ code: 'EIO' })).toEqual({
    reason: 'EIO',
    hint: 'check that the path names a file that you can read',
  });
  for (const error of [new Error('x'), null, undefined])
    expect(fileProblem(error)).toMatchObject({ reason: 'unknown error' });
});

it.runIf(existsSync('/dev/full'))('a full device is named when a write fails', () => {
  const write = () => {
    try {
      writeFileSync('/dev/full', 'text');
      return null;
    } catch (error) {
      return fileProblem(error).reason;
    }
  };
  expect(write()).toBe('no space left on the device');
});
