import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { editText, splitCommand } from '../../src/terminal/editor.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';

const folder = folderOfEachTest();

/** A program whose path has a blank. */
async function script(body: string, name = 'my editor'): Promise<string> {
  const file = path.join(folder.path, name);
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

const edit = (EDITOR: string | undefined, more: Partial<Parameters<typeof editText>[0]> = {}) =>
  editText({
    initial: 'first\n',
    extension: '.md',
    env: { PATH: process.env.PATH, VISUAL: '', EDITOR },
    signal: new AbortController().signal,
    ...more,
  });
const config = (message: string) => ({
  kind: 'config',
  message: expect.stringContaining(message) as string,
});

it('the saved text is returned; the file is private, has its extension and is deleted', async () => {
  const dir = folder.path;
  const file = await script(
    `ls -l "$2" > '${dir}/seen'; printf '%s' "$2" > '${dir}/name'; echo second >> "$2"`,
  );
  expect(await edit(`"${file}" --wait`)).toBe('first\nsecond\n');
  expect(await readFile(path.join(dir, 'seen'), 'utf8')).toMatch(/^-rw------- /);
  const name = await readFile(path.join(dir, 'name'), 'utf8');
  expect(path.extname(name)).toBe('.md');
  await expect(readdir(path.dirname(name))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a missing editor in the environment is a config error', async () => {
  await expect(edit('/nowhere/editor')).rejects.toMatchObject(config('was not found'));
});

it('without an editor that is set nano is opened, else vi, else the error names both', async () => {
  const usual = () => edit(undefined, { env: { PATH: folder.path } });
  await expect(usual()).rejects.toMatchObject(
    config('no editor is set, and nano and vi are not installed'),
  );
  for (const name of ['vi', 'nano']) {
    await script(`echo ${name} >> "$1"`, name);
    expect(await usual()).toBe(`first\n${name}\n`);
  }
});

it('an editor that fails leaves no file', async () => {
  const file = await script(
    `printf '%s' "$1" > '${folder.path}/name'; echo second >> "$1"; exit 3`,
  );
  await expect(edit(`'${file}'`)).rejects.toMatchObject(config('code 3'));
  const name = await readFile(path.join(folder.path, 'name'), 'utf8');
  await expect(readdir(path.dirname(name))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a signal ends the editor, and no file is left', async () => {
  const file = await script(
    `printf '%s' "$1" > '${folder.path}/name'; echo > '${folder.path}/started'; exec sleep 60`,
  );
  const interruption = new AbortController();
  const editing = edit(`'${file}'`, { signal: interruption.signal });
  editing.catch(() => undefined);
  while (!(await readdir(folder.path)).includes('started'))
    await new Promise((resolve) => setImmediate(resolve));
  const reason = new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 });
  interruption.abort(reason);
  await expect(editing).rejects.toBe(reason);
  const name = await readFile(path.join(folder.path, 'name'), 'utf8');
  await expect(readdir(path.dirname(name))).rejects.toMatchObject({ code: 'ENOENT' });
});

it.each([
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

it('a backslash is a part of a path on Windows', () => {
  const command = String.raw`"\\server\my share\e.exe" C:\bin\x -f`;
  expect(splitCommand(command, 'win32')).toEqual([
    String.raw`\\server\my share\e.exe`,
    String.raw`C:\bin\x`,
    '-f',
  ]);
});
