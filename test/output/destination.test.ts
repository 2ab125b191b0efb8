import { execFileSync } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { folderOfEachTest } from '../support/temporary-folder.ts';
import type { OutputFlags } from '../../src/output/emit.ts';
import { capture, TASKS, taskView } from './capture.ts';

const folder = folderOfEachTest();
const at = (name: string) => path.join(folder.path, name);
const read = (name: string) => readFile(at(name), 'utf8');
const to = (output: string, more: OutputFlags = {}, columns?: number) =>
  capture({ output, ...more }, columns, { cwd: folder.path });

async function writes(output: string, text: string): Promise<void> {
  const { emitter } = to(output);
  await emitter.raw(text);
  await emitter.close();
}

it('the file is created complete at the end, and nothing is written to stdout', async () => {
  const { emitter, out } = to('list.tsv', {}, 80);
  emitter.check(taskView, 'list');
  await emitter.list(taskView, TASKS, { has_more: false });
  expect(await readdir(folder.path)).toEqual([
    expect.stringMatching(/^\.list\.tsv\.[0-9a-f]{12}\.tmp$/),
  ]);
  await emitter.close();
  expect(await readdir(folder.path)).toEqual(['list.tsv']);
  // A file is no terminal: tsv with full ids, though stdout is one.
  expect(await read('list.tsv')).toMatch(/^3f2504e04f8941d39a0c0305e82c3301\t/);
  expect(out()).toBe('');
});

it('a failing command does not change an existing file', async () => {
  await writeFile(at('old.json'), 'precious');
  const { emitter } = to('old.json', { format: 'json' });
  await emitter.list(taskView, TASKS, { has_more: false });
  await emitter.abandon();
  expect([await readdir(folder.path), await read('old.json')]).toEqual([['old.json'], 'precious']);
});

it('a file that is replaced keeps its mode, and a link stays a link, also a dangling one', async () => {
  await mkdir(at('real'));
  await writeFile(at('real/file'), 'old', { mode: 0o640 });
  await chmod(at('real/file'), 0o640);
  for (const name of ['file', 'none']) {
    await symlink(`real/${name}`, at(name));
    await writes(name, 'new');
    expect((await lstat(at(name))).isSymbolicLink()).toBe(true);
    expect(await read(`real/${name}`)).toBe('new');
  }
  expect((await stat(at('real/file'))).mode & 0o777).toBe(0o640);
  expect((await readdir(at('real'))).sort()).toEqual(['file', 'none']);
});

it('a file that is named by its descriptor is appended to', async () => {
  const handle = await open(at('log'), 'w');
  await handle.write('before\n');
  await writes(`/dev/fd/${handle.fd}`, 'after\n');
  await handle.close();
  expect([await read('log'), await readdir(folder.path)]).toEqual(['before\nafter\n', ['log']]);
});

// Not /dev/null: where the tests run as root, code that is wrong replaces the one of the machine.
it('a pipe is written to and not replaced', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  const reading = read('pipe');
  await writes('pipe', 'through');
  expect([await reading, (await stat(at('pipe'))).isFIFO()]).toEqual(['through', true]);
});

it('raw bytes are written to the file unchanged, also when stdout is a terminal', async () => {
  const { emitter } = to('raw', {}, 80);
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x1b, 0x00, 0xff, 0x0d, 0x0a]);
  for (const byte of bytes) await emitter.raw(Uint8Array.of(byte));
  await emitter.close();
  expect((await readFile(at('raw'))).equals(bytes)).toBe(true);
});

it('an empty list and an empty stream create an empty file; --dry-run creates none, and - is stdout', async () => {
  for (const [output, kind, mode] of [
    ['list', 'list', 'live'],
    ['stream', 'stream', 'live'],
    ['rehearsal', 'item', 'dry-run'],
    ['-', 'list', 'live'],
  ] as const) {
    const { emitter } = to(output, { mode });
    emitter.check(taskView, kind);
    if (kind === 'list') await emitter.list(taskView, [], { has_more: false });
    await emitter.close();
  }
  expect((await readdir(folder.path)).sort()).toEqual(['list', 'stream']);
  expect(await read('list')).toBe('');
});

it.each([
  ...['json', 'table', 'ndjson', 'tsv', 'id'].map(
    (word) => [word, 'usage', `"${word}" is a format`] as const,
  ),
  ...['yaml', 'wide', 'csv'].map(
    (word) => [word, 'usage', `"${word}" is not a format of acs`] as const,
  ),
  [
    'sub/none/file',
    'config',
    'its folder does not exist',
    'create the folder, or choose another one',
  ],
  ['.', 'config', 'it is a folder', 'name a file in it'],
  ['', 'usage', 'needs the name of a file'],
] as const)('-o %s is refused before any request, as %s', (output, kind, why, hint?: string) => {
  const check = (file: string) => () => to(file).emitter.check(taskView, 'list');
  expect(check(output)).toThrow(
    expect.objectContaining({ kind, message: expect.stringContaining(why) as string }),
  );
  if (hint !== undefined)
    expect(check(output)).toThrow(expect.objectContaining({ details: { hint } }));
  else if (output !== '') expect(check(`./${output}`)).not.toThrow();
});

it('a format that is given as a file names the flag', () => {
  const hint = (output: string) => ({
    details: { hint: expect.stringContaining(output) as string },
  });
  const check = (file: string) => () => to(file).emitter.check(taskView, 'list');
  expect(check('json')).toThrow(expect.objectContaining(hint('use --json')));
  expect(check('tsv')).toThrow(expect.objectContaining(hint('use --format tsv')));
});

it('a file that cannot be written is a config error that names it', async () => {
  await writeFile(at('file'), '');
  const { emitter } = to('file/below');
  await expect(emitter.raw('x')).rejects.toMatchObject({
    kind: 'config',
    message: 'cannot write file/below: a part of its path is a file, not a folder',
  });
  await emitter.abandon();
});
