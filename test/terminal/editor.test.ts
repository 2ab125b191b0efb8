import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { editText, splitCommand } from '../../src/terminal/editor.ts';

let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs editor '));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function script(body: string): Promise<string> {
  const file = path.join(dir, 'my editor');
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

const edit = (editor: string | undefined, signal = new AbortController().signal) =>
  editText({
    initial: 'first\n',
    extension: '.md',
    env: { PATH: process.env.PATH, VISUAL: '', EDITOR: editor },
    signal,
  });

test('the saved text is returned; the file is private, has its extension and is deleted', async () => {
  const file = await script(`ls -l "$2" > '${dir}/seen'; printf '%s' "$2" > '${dir}/name'; echo second >> "$2"`);
  expect(await edit(`"${file}" --wait`)).toBe('first\nsecond\n');
  expect(await readFile(path.join(dir, 'seen'), 'utf8')).toMatch(/^-rw------- /);
  const name = await readFile(path.join(dir, 'name'), 'utf8');
  expect(path.extname(name)).toBe('.md');
  await expect(readdir(path.dirname(name))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a missing editor in the environment is a config error', async () => {
  await expect(edit('/nowhere/editor')).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringContaining('was not found') as string,
  });
});

test('without an editor that is set nano is opened, else vi, else the error names both', async () => {
  const options = { initial: 'first\n', extension: '.md', signal: new AbortController().signal };
  const usual = () => editText({ ...options, env: { PATH: dir } });
  await expect(usual()).rejects.toMatchObject({
    kind: 'config',
    message: 'no editor is set, and nano and vi are not installed',
  });
  for (const name of ['vi', 'nano']) {
    await writeFile(path.join(dir, name), `#!/bin/sh\necho ${name} >> "$1"\n`);
    await chmod(path.join(dir, name), 0o755);
    expect(await usual()).toBe(`first\n${name}\n`);
  }
});

test('an editor that fails leaves the text in a file that the error names, when requested', async () => {
  const EDITOR = `'${await script('echo second >> "$1"; exit 3')}'`;
  const env = { PATH: process.env.PATH, EDITOR };
  const options = { initial: 'first\n', extension: '.md', env, signal: new AbortController().signal };
  const error = await editText({ ...options, onFailure: 'keep' }).catch((failed: unknown) => failed as AppError);
  const file = /saved in (\S+)/.exec(error instanceof AppError ? (error.details.hint ?? '') : '')?.[1] ?? '';
  expect(await readFile(file, 'utf8')).toBe('first\nsecond\n');
  await rm(path.dirname(file), { recursive: true });
});

test('an editor that fails returns no text, and the file is deleted', async () => {
  const file = await script(`printf '%s' "$1" > '${dir}/name'; exit 3`);
  await expect(edit(`'${file}'`)).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringContaining('code 3') as string,
  });
  const name = await readFile(path.join(dir, 'name'), 'utf8');
  await expect(readdir(path.dirname(name))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a signal ends the editor', async () => {
  const file = await script(`echo > '${dir}/started'; exec sleep 60`);
  const interruption = new AbortController();
  const editing = edit(`'${file}'`, interruption.signal);
  editing.catch(() => undefined);
  while (!(await readdir(dir)).includes('started')) await new Promise((resolve) => setImmediate(resolve));
  const reason = new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 });
  interruption.abort(reason);
  await expect(editing).rejects.toBe(reason);
});

test.each([
  ['code --wait', ['code', '--wait']],
  [`"/opt/my editor/e" 'a b' -f`, ['/opt/my editor/e', 'a b', '-f']],
  [String.raw`sh -c "echo hello > \$0"`, ['sh', '-c', 'echo hello > $0']],
  ['e "\\" \\\\ \\` \\n" \'\\$\'', ['e', '" \\ ` \\n', '\\$']],
  [String.raw`/opt/my\ editor/e --name=a" b "'c d'`, ['/opt/my editor/e', '--name=a b c d']],
  [`e "" it's`, ['e', '', `it's`]],
  ['  ', []],
])('%s is split into words as by a shell', (command, words) => {
  expect(splitCommand(command, 'linux')).toEqual(words);
});

test('a backslash is a part of a path on Windows', () => {
  const command = String.raw`"\\server\my share\e.exe" C:\bin\x -f`;
  expect(splitCommand(command, 'win32')).toEqual([String.raw`\\server\my share\e.exe`, String.raw`C:\bin\x`, '-f']);
});
