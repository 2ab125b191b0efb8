import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { capture, TASKS, taskView } from './capture.ts';

let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-output-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const read = (name: string) => readFile(path.join(dir, name), 'utf8');

test('the file is created complete at the end, and nothing is written to stdout', async () => {
  const { emitter, out } = capture({ output: 'list.tsv' }, 80, dir);
  emitter.check(taskView, 'list');
  await emitter.list(taskView, TASKS, { has_more: false });
  const [temporary, ...others] = await readdir(dir);
  expect(others).toEqual([]);
  expect(temporary).toMatch(/^\.list\.tsv\.[0-9a-f]{12}\.tmp$/);
  await emitter.close();
  expect(await readdir(dir)).toEqual(['list.tsv']);
  // A file is no terminal: tsv with full ids, though stdout is one.
  expect((await read('list.tsv')).split('\n')[0]).toMatch(/^3f2504e04f8941d39a0c0305e82c3301\t/);
  expect(out()).toBe('');
});

test('a failing command does not change an existing file', async () => {
  await writeFile(path.join(dir, 'old.json'), 'precious');
  const { emitter } = capture({ output: 'old.json', format: 'json' }, undefined, dir);
  await emitter.list(taskView, TASKS, { has_more: false });
  await emitter.abandon();
  expect(await readdir(dir)).toEqual(['old.json']);
  expect(await read('old.json')).toBe('precious');
});

test('a file that is replaced keeps its mode, and a link stays a link', async () => {
  await mkdir(path.join(dir, 'real'));
  await writeFile(path.join(dir, 'real', 'file'), 'old');
  await chmod(path.join(dir, 'real', 'file'), 0o640);
  await symlink('real/file', path.join(dir, 'link'));
  const { emitter } = capture({ output: 'link' }, undefined, dir);
  await emitter.raw('new');
  await emitter.close();
  expect((await lstat(path.join(dir, 'link'))).isSymbolicLink()).toBe(true);
  expect(await read('real/file')).toBe('new');
  expect((await stat(path.join(dir, 'real', 'file'))).mode & 0o777).toBe(0o640);
  expect(await readdir(path.join(dir, 'real'))).toEqual(['file']);
});

test('a dangling link stays a link, and its target is created', async () => {
  await mkdir(path.join(dir, 'real'));
  await symlink('real/file', path.join(dir, 'link'));
  const { emitter } = capture({ output: 'link' }, undefined, dir);
  await emitter.raw('new');
  await emitter.close();
  expect((await lstat(path.join(dir, 'link'))).isSymbolicLink()).toBe(true);
  expect(await read('real/file')).toBe('new');
});

test('a file that is named by its descriptor is appended to', async () => {
  const handle = await open(path.join(dir, 'log'), 'w');
  await handle.write('before\n');
  const { emitter } = capture({ output: `/dev/fd/${handle.fd}` }, undefined, dir);
  await emitter.raw('after\n');
  await emitter.close();
  await handle.close();
  expect(await read('log')).toBe('before\nafter\n');
  expect(await readdir(dir)).toEqual(['log']);
});

test.each(['yaml', 'wide', 'csv'])('-o %s is refused: it would become a file of that name', (word) => {
  const { emitter } = capture({ output: word }, undefined, dir);
  expect(() => emitter.check(taskView, 'list')).toThrow(`"${word}" is not a format of acs`);
});

// Not /dev/null: where the tests run as root, code that is wrong replaces the one of the machine.
test('a pipe is written to and not replaced', async () => {
  const pipe = path.join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const read = readFile(pipe, 'utf8');
  const { emitter } = capture({ output: 'pipe' }, undefined, dir);
  await emitter.raw('through');
  await emitter.close();
  expect(await read).toBe('through');
  expect((await stat(pipe)).isFIFO()).toBe(true);
});

test('raw bytes are written to the file unchanged, also when stdout is a terminal', async () => {
  const { emitter } = capture({ output: 'raw' }, 80, dir);
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x1b, 0x00, 0xff, 0x0d, 0x0a]);
  for (const byte of bytes) await emitter.raw(Uint8Array.of(byte));
  await emitter.close();
  expect((await readFile(path.join(dir, 'raw'))).equals(bytes)).toBe(true);
});

test('an empty list and an empty stream create an empty file; --dry-run creates none', async () => {
  const list = capture({ output: 'list' }, undefined, dir);
  list.emitter.check(taskView, 'list');
  await list.emitter.list(taskView, [], { has_more: false });
  await list.emitter.close();
  const stream = capture({ output: 'stream' }, undefined, dir);
  stream.emitter.check(taskView, 'stream');
  await stream.emitter.close();
  const rehearsal = capture({ output: 'rehearsal', mode: 'dry-run' }, undefined, dir);
  rehearsal.emitter.check(taskView, 'item');
  await rehearsal.emitter.close();
  expect((await readdir(dir)).sort()).toEqual(['list', 'stream']);
  expect(await read('list')).toBe('');
});

test('- is stdout', async () => {
  const { emitter, out } = capture({ output: '-' }, undefined, dir);
  await emitter.list(taskView, TASKS, { has_more: false });
  await emitter.close();
  expect(out()).toContain('running');
  expect(await readdir(dir)).toEqual([]);
});

test.each(['json', 'table', 'ndjson', 'tsv', 'id'])('-o %s is a mistake for a format', (output) => {
  const { emitter } = capture({ output }, undefined, dir);
  expect(() => emitter.check(taskView, 'list')).toThrow(
    expect.objectContaining({
      kind: 'usage',
      details: { hint: expect.stringContaining(output === 'json' ? 'use --json' : `--format ${output}`) as string },
    }),
  );
  expect(() => capture({ output: `./${output}` }, undefined, dir).emitter.check(taskView, 'list')).not.toThrow();
});

test.each([
  ['sub/none/file', 'config', 'its folder does not exist'],
  ['.', 'config', 'it is a folder'],
  ['', 'usage', 'needs the name of a file'],
])('-o %s is refused before any request, as %s', (output, kind, why) => {
  const { emitter } = capture({ output }, undefined, dir);
  expect(() => emitter.check(taskView, 'list')).toThrow(
    expect.objectContaining({ kind, message: expect.stringContaining(why) as string }),
  );
});

test('a file that cannot be written is a config error that names it', async () => {
  await writeFile(path.join(dir, 'file'), '');
  const { emitter } = capture({ output: 'file/below' }, undefined, dir);
  await expect(emitter.raw('x')).rejects.toMatchObject({
    kind: 'config',
    message: 'cannot write file/below: a part of its path is not a folder',
  });
  await emitter.abandon();
});
