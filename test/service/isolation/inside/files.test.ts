import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DownloadReader, UploadWriter } from '../../../../src/service/isolation/inside/files.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-files-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const put = (name: string, text: string): void => writeFileSync(path.join(dir, name), text);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a download', () => {
  const begun = (reader: DownloadReader, name: string, length: number, offset = 0) =>
    reader.read({ path: name, token: 't', offset, length });
  const text = ({ data }: { data: string }): string => Buffer.from(data, 'base64').toString('utf8');

  it('reads all chunks from the file that the first has opened', async () => {
    put('a.txt', 'first file');
    const reader = new DownloadReader(dir);
    const first = await begun(reader, 'a.txt', 5);
    put('b.txt', 'another one');
    renameSync(path.join(dir, 'b.txt'), path.join(dir, 'a.txt'));
    const second = await begun(reader, 'a.txt', 100, 5);
    expect([text(first), text(second), second.size]).toEqual(['first', ' file', 10]);
  });

  it('ends with its last chunk, and with a chunk of length 0', async () => {
    put('a.txt', 'abc');
    const ended = { code: 'invalid', message: 'The download has ended' };
    const reader = new DownloadReader(dir);
    await begun(reader, 'a.txt', 3);
    await expect(begun(reader, 'a.txt', 1, 1)).rejects.toMatchObject(ended);
    await begun(reader, 'a.txt', 1);
    await begun(reader, 'a.txt', 0, 1);
    await expect(begun(reader, 'a.txt', 1, 1)).rejects.toMatchObject(ended);
  });

  it('of a file that is truncated meanwhile has a short chunk and the first size', async () => {
    put('a.txt', 'abcdef');
    const reader = new DownloadReader(dir);
    await begun(reader, 'a.txt', 2);
    truncateSync(path.join(dir, 'a.txt'), 3);
    const rest = await begun(reader, 'a.txt', 4, 2);
    expect([text(rest), rest.size]).toEqual(['c', 6]);
  });

  it('is refused for a missing file, a folder and a pipe', async () => {
    execFileSync('mkfifo', [path.join(dir, 'pipe')]);
    const reader = new DownloadReader(dir);
    await expect(begun(reader, 'none', 1)).rejects.toMatchObject({ code: 'not-found' });
    await expect(begun(reader, '.', 1)).rejects.toMatchObject({ code: 'not-a-file' });
    await expect(begun(reader, 'pipe', 1)).rejects.toMatchObject({ code: 'not-a-file' });
  });
});

describe('an upload', () => {
  const write = (writer: UploadWriter, name: string, data: string, then: 'more' | 'done' | 'abandoned') =>
    writer.write({ path: name, token: 't', data: base64(data), then });

  it('takes the place of the file with its last chunk, and keeps the mode', async () => {
    put('a.sh', 'old');
    chmodSync(path.join(dir, 'a.sh'), 0o750);
    const writer = new UploadWriter(dir);
    await write(writer, 'a.sh', 'one ', 'more');
    expect(readFileSync(path.join(dir, 'a.sh'), 'utf8')).toBe('old');
    await write(writer, 'a.sh', 'two', 'done');
    expect(readFileSync(path.join(dir, 'a.sh'), 'utf8')).toBe('one two');
    expect(statSync(path.join(dir, 'a.sh')).mode & 0o777).toBe(0o750);
    expect(readdirSync(dir)).toEqual(['a.sh']);
  });

  it('makes the folders of its file, whose name may be as long as the system permits', async () => {
    for (const name of [`deep/${'n'.repeat(255)}`, `deep/${'\u540d'.repeat(85)}`]) {
      await write(new UploadWriter(dir), name, 'x', 'done');
      expect(readFileSync(path.join(dir, name), 'utf8')).toBe('x');
    }
  });

  it('that is abandoned leaves the file as it was and no part behind, also before its first chunk', async () => {
    put('a.txt', 'old');
    const writer = new UploadWriter(dir);
    await write(writer, 'a.txt', '', 'abandoned');
    await write(writer, 'a.txt', 'new', 'more');
    expect(readdirSync(dir)).toHaveLength(2);
    await write(writer, 'a.txt', '', 'abandoned');
    expect([readdirSync(dir), readFileSync(path.join(dir, 'a.txt'), 'utf8')]).toEqual([['a.txt'], 'old']);
  });

  it('that fails with its last chunk leaves no part behind', async () => {
    const writer = new UploadWriter(dir);
    await write(writer, 'a', 'new', 'more');
    mkdirSync(path.join(dir, 'a'));
    await expect(write(writer, 'a', 'more', 'done')).rejects.toMatchObject({ code: 'invalid' });
    expect(readdirSync(dir)).toEqual(['a']);
    await expect(write(writer, 'a', 'x', 'done')).rejects.toMatchObject({ code: 'not-a-file' });
  });
});
