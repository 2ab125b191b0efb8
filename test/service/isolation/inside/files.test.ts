import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readChunk, writeChunk } from '../../../../src/service/isolation/inside/files.ts';
import { folderOfEachTest } from '../../../support/temporary-folder.ts';

const folder = folderOfEachTest();
let dir: string;
let token: string;
beforeEach(() => {
  dir = folder.path;
  token = path.basename(dir);
});

const put = (name: string, text: string): void => writeFileSync(path.join(dir, name), text);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a download', () => {
  const read = (name: string, length: number, offset = 0) =>
    readChunk({ path: path.join(dir, name), token, offset, length });
  const text = ({ data }: { data: string }): string => Buffer.from(data, 'base64').toString('utf8');

  it('reads all chunks from the file that the first has opened', async () => {
    put('a.txt', 'first file');
    const first = await read('a.txt', 5);
    put('b.txt', 'another one');
    renameSync(path.join(dir, 'b.txt'), path.join(dir, 'a.txt'));
    const second = await read('a.txt', 100, 5);
    expect([text(first), text(second), second.size]).toEqual(['first', ' file', 10]);
  });

  it('ends with its last chunk, and with a chunk of length 0', async () => {
    put('a.txt', 'abc');
    const ended = { code: 'invalid', message: 'The download has ended' };
    await read('a.txt', 3);
    await expect(read('a.txt', 1, 1)).rejects.toMatchObject(ended);
    await read('a.txt', 1);
    await read('a.txt', 0, 1);
    await expect(read('a.txt', 1, 1)).rejects.toMatchObject(ended);
  });

  it('of a file that is truncated meanwhile has a short chunk and the first size', async () => {
    put('a.txt', 'abcdef');
    await read('a.txt', 2);
    truncateSync(path.join(dir, 'a.txt'), 3);
    const rest = await read('a.txt', 4, 2);
    expect([text(rest), rest.size]).toEqual(['c', 6]);
  });

  it('is refused for a missing file, a folder and a pipe', async () => {
    execFileSync('mkfifo', [path.join(dir, 'pipe')]);
    await expect(read('none', 1)).rejects.toMatchObject({ code: 'not-found' });
    await expect(read('.', 1)).rejects.toMatchObject({ code: 'not-a-file' });
    await expect(read('pipe', 1)).rejects.toMatchObject({ code: 'not-a-file' });
  });
});

describe('an upload', () => {
  const write = (name: string, data: string, then: 'more' | 'done' | 'abandoned') =>
    writeChunk({ path: path.join(dir, name), token, data: base64(data), then });

  it('takes the place of the file with its last chunk, and keeps the mode', async () => {
    put('a.sh', 'old');
    chmodSync(path.join(dir, 'a.sh'), 0o750);
    await write('a.sh', 'one ', 'more');
    expect(readFileSync(path.join(dir, 'a.sh'), 'utf8')).toBe('old');
    await write('a.sh', 'two', 'done');
    expect(readFileSync(path.join(dir, 'a.sh'), 'utf8')).toBe('one two');
    expect(statSync(path.join(dir, 'a.sh')).mode & 0o777).toBe(0o750);
    expect(readdirSync(dir)).toEqual(['a.sh']);
  });

  it('makes the folders of its file, whose name may be as long as the system permits', async () => {
    for (const name of [`deep/${'n'.repeat(255)}`, `deep/${'\u540d'.repeat(85)}`]) {
      await write(name, 'x', 'done');
      expect(readFileSync(path.join(dir, name), 'utf8')).toBe('x');
    }
  });

  it('that is abandoned leaves the file as it was and no part behind, also before its first chunk', async () => {
    put('a.txt', 'old');
    await write('a.txt', '', 'abandoned');
    await write('a.txt', 'new', 'more');
    expect(readdirSync(dir)).toHaveLength(2);
    await write('a.txt', '', 'abandoned');
    expect([readdirSync(dir), readFileSync(path.join(dir, 'a.txt'), 'utf8')]).toEqual([
      ['a.txt'],
      'old',
    ]);
  });

  it('that fails with its last chunk leaves no part behind', async () => {
    await write('a', 'new', 'more');
    mkdirSync(path.join(dir, 'a'));
    await expect(write('a', 'more', 'done')).rejects.toMatchObject({ code: 'invalid' });
    expect(readdirSync(dir)).toEqual(['a']);
    await expect(write('a', 'x', 'done')).rejects.toMatchObject({ code: 'not-a-file' });
  });
});
