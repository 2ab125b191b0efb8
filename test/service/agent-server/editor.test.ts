import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EditStep } from '../../../src/service/base/steps.ts';
import { Editor, type EditResult } from '../../../src/service/agent-server/editor.ts';
import { usePlainSandbox } from './support/shared-sandboxes.ts';

const plain = usePlainSandbox();
let dir: string;
let editor: Editor;
beforeEach(() => {
  dir = plain.folder();
  editor = new Editor(plain.sandbox);
});

type Wish = Partial<EditStep> & Pick<EditStep, 'command'>;
const edit = (wish: Wish): Promise<EditResult> =>
  editor.edit({ type: 'edit', thought: '', path: 'a.txt', ...wish }, dir);
const put = (text: string | Buffer, name = 'a.txt'): void =>
  writeFileSync(path.join(dir, name), text);
const content = (name = 'a.txt'): string => readFileSync(path.join(dir, name), 'utf8');
/** The text of a refusal, with the folder of the test left out. */
async function refusal(wish: Wish): Promise<string> {
  const { is_error, text } = await edit(wish);
  expect(is_error).toBe(true);
  return text.replaceAll(dir, '');
}

describe('view', () => {
  it('numbers the lines of a range, whose end may be -1', async () => {
    put('one\ntwo\nthree\n');
    expect((await edit({ command: 'view', view_range: [2, -1] })).text).toBe(
      `Lines of ${path.join(dir, 'a.txt')}:\n     2\ttwo\n     3\tthree`,
    );
  });

  it.each([[[0, 1]], [[4, 4]], [[3, 2]], [[1, -2]]] as [[number, number]][])(
    'refuses the range %j',
    async (range) => {
      put('one\ntwo\nthree\n');
      expect(await refusal({ command: 'view', view_range: range })).toBe(
        'view_range must lie between 1 and 3.',
      );
    },
  );

  it('shows 30000 characters of a long file, and 500 entries of a large folder without the hidden ones', async () => {
    put('x'.repeat(40_000));
    expect((await edit({ command: 'view' })).text).toMatch(
      /\n\[\.\.\. 10007 characters left out \.\.\.\]$/,
    );
    mkdirSync(path.join(dir, 'many/sub'), { recursive: true });
    for (let index = 0; index < 501; index += 1) put('', `many/${String(index).padStart(3, '0')}`);
    put('', 'many/.hidden');
    const { text } = await edit({ command: 'view', path: 'many' });
    expect(text.split('\n').slice(1, 3)).toEqual(['000', '001']);
    expect(text).toMatch(/\n499\n\[\.\.\. 2 more \.\.\.\]$/);
  });
});

describe('create', () => {
  it('makes the folders of a file, and returns what it has replaced', async () => {
    const made = await edit({ command: 'create', path: 'deep/er/a.txt', file_text: 'one' });
    expect(made).toMatchObject({
      prev_exist: false,
      old_content: undefined,
      new_content: 'one',
      is_error: false,
    });
    const again = await edit({ command: 'create', path: 'deep/er/a.txt', file_text: 'two' });
    expect(again).toMatchObject({ prev_exist: true, old_content: 'one', new_content: 'two' });
    expect(content('deep/er/a.txt')).toBe('two');
  });

  it('does not replace a folder or a file that cannot be kept for undo_edit', async () => {
    mkdirSync(path.join(dir, 'folder'));
    expect(await refusal({ command: 'create', path: 'folder', file_text: '' })).toBe(
      'Path is not a file',
    );
    put(Buffer.from([1, 0, 2]));
    expect(await refusal({ command: 'create', file_text: '' })).toBe('/a.txt is a binary file.');
    expect(content()).toBe('\u0001\0\u0002');
  });
});

describe('str_replace', () => {
  it('takes both texts literally, and shows the lines around the change', async () => {
    put('1\n2\n3\n4\n5\n$& (.*)\n7\n8\n9\n10\n11\n');
    const { text } = await edit({ command: 'str_replace', old_str: '$& (.*)', new_str: "$' $1" });
    expect(content()).toContain("5\n$' $1\n7");
    expect(text.split('\n').slice(1)).toEqual(
      ['2', '3', '4', '5', "$' $1", '7', '8', '9', '10'].map(
        (line, at) => `${String(at + 2).padStart(6)}\t${line}`,
      ),
    );
  });

  it('refuses a text that occurs not at all, more than once, or is empty, and changes nothing', async () => {
    put('one one');
    expect(await refusal({ command: 'str_replace', old_str: 'two' })).toContain(
      'old_str does not occur in',
    );
    expect(await refusal({ command: 'str_replace', old_str: '' })).toContain(
      'old_str does not occur in',
    );
    expect(await refusal({ command: 'str_replace', old_str: 'one' })).toContain(
      'occurs at the lines',
    );
    expect(await refusal({ command: 'str_replace' })).toBe(
      'The parameter old_str is required for str_replace.',
    );
    expect(content()).toBe('one one');
  });
});

it('an edit of a file with CRLF keeps its line ends, and one with both is edited literally', async () => {
  put('one\r\ntwo\r\nthree\r\n');
  await edit({ command: 'str_replace', old_str: 'one\ntwo', new_str: '1\n2' });
  await edit({ command: 'insert', insert_line: 2, new_str: 'between' });
  expect(content()).toBe('1\r\n2\r\nbetween\r\nthree\r\n');
  put('a\r\nb');
  await edit({ command: 'insert', insert_line: 2, new_str: 'c' });
  expect(content()).toBe('a\r\nb\r\nc');
  put('one\ntwo\r\n');
  await edit({ command: 'str_replace', old_str: 'one\ntwo', new_str: '1\n2' });
  expect(content()).toBe('1\n2\r\n');
});

it('a file that is not UTF-8 is refused, and stays', async () => {
  put(Buffer.from('caf\xe9 one', 'latin1'));
  expect(await refusal({ command: 'str_replace', old_str: 'one', new_str: 'two' })).toContain(
    'is not UTF-8',
  );
  expect(readFileSync(path.join(dir, 'a.txt'), 'latin1')).toBe('caf\xe9 one');
});

it('an edit through a link changes the file that the link names', async () => {
  put('one', 'target');
  symlinkSync('target', path.join(dir, 'a.txt'));
  await edit({ command: 'str_replace', old_str: 'one', new_str: 'two' });
  expect([content('target'), lstatSync(path.join(dir, 'a.txt')).isSymbolicLink()]).toEqual([
    'two',
    true,
  ]);
});

it('an edit of a file with several links changes it under each name', async () => {
  put('one two three');
  linkSync(path.join(dir, 'a.txt'), path.join(dir, 'other'));
  await edit({ command: 'str_replace', old_str: 'two', new_str: '2' });
  expect([content(), content('other')]).toEqual(['one 2 three', 'one 2 three']);
  await edit({ command: 'create', file_text: 'longer than it was before' });
  expect(content('other')).toBe('longer than it was before');
  await edit({ command: 'undo_edit' });
  expect(content('other')).toBe('one 2 three');
  expect(readdirSync(dir).sort()).toEqual(['a.txt', 'other']);
});

it.runIf(process.getuid?.() === 0)('an edit keeps the owner of a file', async () => {
  put('one');
  chownSync(path.join(dir, 'a.txt'), 65_534, 65_533);
  await edit({ command: 'str_replace', old_str: 'one', new_str: 'two' });
  const { uid, gid } = lstatSync(path.join(dir, 'a.txt'));
  expect([content(), uid, gid]).toEqual(['two', 65_534, 65_533]);
});

it.each<Wish>([
  { command: 'str_replace', old_str: 'one', new_str: 'one' },
  { command: 'str_replace', old_str: 'one\n', new_str: 'one\r\n' },
  { command: 'insert', insert_line: 1, new_str: '' },
])('an edit without effect is refused: %j', async (wish) => {
  put('one\r\n');
  expect(await refusal(wish)).toBe('No change: the edit leaves /a.txt as it is.');
  expect(await refusal({ command: 'undo_edit' })).toBe('No edit of /a.txt to take back.');
});

describe('insert', () => {
  it.each<[string, string, number, string, string]>([
    ['at the top', 'one\n', 0, 'new', 'new\none\n'],
    ['in between', 'one\ntwo\n', 1, 'new\n', 'one\nnew\ntwo\n'],
    ['at the end', 'one\n', 1, 'new', 'one\nnew'],
    ['behind a last line without a line end', 'one', 1, 'new', 'one\nnew'],
    ['into an empty file', '', 0, 'new', 'new'],
  ])('adds a text %s', async (_, before, line, text, after) => {
    put(before);
    expect((await edit({ command: 'insert', insert_line: line, new_str: text })).is_error).toBe(
      false,
    );
    expect(content()).toBe(after);
  });

  it.each([-1, 3, undefined])('refuses the line %s of two', async (line) => {
    put('one\ntwo\n');
    const wish = {
      command: 'insert',
      new_str: 'x',
      ...(line === undefined ? {} : { insert_line: line }),
    } as const;
    expect(await refusal(wish)).toBe('insert_line must lie between 0 and 2 in /a.txt.');
  });
});

describe('undo_edit', () => {
  it('takes back the last ten edits of a file, its creation included', async () => {
    await edit({ command: 'create', path: 'b.txt', file_text: 'b' });
    await edit({ command: 'create', file_text: '0' });
    for (let count = 1; count <= 10; count += 1)
      await edit({ command: 'create', file_text: String(count) });
    const undone: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      await edit({ command: 'undo_edit' });
      undone.push(content());
    }
    expect(undone).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']);
    expect(await refusal({ command: 'undo_edit' })).toBe('No edit of /a.txt to take back.');
    await edit({ command: 'undo_edit', path: 'b.txt' });
    expect(existsSync(path.join(dir, 'b.txt'))).toBe(false);
  });
});

it('a file that is missing, a pipe, or above 10 MiB is refused with a text', async () => {
  const wish = { command: 'str_replace', old_str: 'a' } as const;
  expect(await refusal(wish)).toBe('No such file: /a.txt');
  execFileSync('mkfifo', [path.join(dir, 'pipe')]);
  expect(await refusal({ ...wish, path: 'pipe' })).toBe('Path is not a file');
  put('');
  truncateSync(path.join(dir, 'a.txt'), 10 * 1024 * 1024 + 1);
  expect(await refusal(wish)).toBe('/a.txt is larger than 10485760 bytes.');
  expect(await refusal({ command: 'view', path: 'a.txt/b' })).toBe('No such file: /a.txt/b');
});
