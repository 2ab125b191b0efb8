import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  changedFiles,
  type ChangedFile,
  filePatch,
  type FileSides,
  lineTotals,
  patchFiles,
  unquotePath,
} from '../../src/domain/patch.ts';

const stat = (patch: string, ...paths: string[]) =>
  changedFiles({
    patch: Buffer.from(patch),
    changes: paths.map((path) => ({ path, status: 'modified' as const })),
  });

describe('a diff', () => {
  it('does not read content that looks like a header as one', () => {
    const patch =
      'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n--- b/other\n+++ b/other\n+@@ ' +
      '-1 +1 @@\rdiff --git a/b b/other\n';
    expect(stat(patch, 'a', 'other')).toEqual([
      { path: 'a', status: 'modified', added: 2, removed: 1 },
      { path: 'other', status: 'modified', added: null, removed: null },
    ]);
  });

  it.each([
    ['a"b"', 'a"b"'],
    ['"\\303\\274ber"', 'über'],
    ['"é \\\\101\\"\\t"', 'é \\101"\t'],
  ])('has %s in place of the name %j', (quoted, name) => {
    const patch = `diff --git a/x b/y\nrename from x\nrename to ${quoted}\n@@ -0,0 +1 @@\n+x\n`;
    expect(stat(patch, name)[0]).toMatchObject({ added: 1, removed: 0 });
  });

  it('has no lines for a binary file', () => {
    const patch = 'diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n';
    expect(stat(patch, 'i.png')).toEqual([
      { path: 'i.png', status: 'modified', added: null, removed: null },
    ]);
  });
});

it('a file that becomes a link, which git deletes and adds, is one modified file', () => {
  const patch = [
    'diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 ' +
      '@@\n-one\n-two\n',
    'diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+b\n',
  ];
  expect([...patchFiles(patch.join('')).values()]).toEqual([
    { path: 'a', status: 'modified', added: 1, removed: 2, text: patch.join('') },
  ]);
});

it.each([
  ['new file mode 100644', 'added'],
  ['deleted file mode 100644', 'deleted'],
  ['index 1..2 100644', 'modified'],
])('a file whose head has "%s" is %s, and its folders are kept', (line, status) => {
  const patch = `a line before\ndiff --git a/one/two/x b/one/two/x\n${line}\n`;
  expect([...patchFiles(patch).values()]).toMatchObject([{ path: 'one/two/x', status }]);
});

it('a renamed file has the status renamed and its new path', () => {
  const patch = 'diff --git a/x b/y\nrename from x\nrename to y\n';
  expect([...patchFiles(patch).values()]).toMatchObject([{ path: 'y', status: 'renamed' }]);
});

it('a line of the content is not read as one of the head', () => {
  const patch = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nrename to y\n';
  expect([...patchFiles(patch).keys()]).toEqual(['x']);
});

it('unquotePath reads the escapes of git', () => {
  expect(unquotePath('"\\a\\b\\t\\n\\v\\f\\r"')).toBe('\x07\b\t\n\v\f\r');
});

describe('the totals of changed files', () => {
  it('leave out files whose lines are not known', () => {
    const files = [
      { path: 'a', status: 'modified' as const, added: 3, removed: 1 },
      { path: 'b', status: 'added' as const, added: null, removed: null },
      { path: 'c', status: 'deleted' as const, added: 0, removed: 4 },
    ];
    expect(lineTotals(files)).toEqual({ added: 3, removed: 5 });
    expect(lineTotals([])).toEqual({ added: 0, removed: 0 });
  });
});

/** Applies the patch with git to the original side; what the file holds then. */
function applied(patch: string, name: string, { original, modified }: FileSides): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'acs-patch-'));
  try {
    const file = path.join(folder, name);
    if (original !== null) writeFileSync(file, original);
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() };
    execFileSync('git', ['apply', '--whitespace=nowarn'], { cwd: folder, input: patch, env });
    return modified === null ? null : readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const lines = (count: number, text: string) =>
  Array.from({ length: count }, (_, at) => `${text} ${at}\n`).join('');

describe('the patch of a file', () => {
  it.each<[string, FileSides]>([
    ['a new file', { original: null, modified: 'one\ntwo\n' }],
    ['a new file without a line break at its end', { original: null, modified: 'one\ntwo' }],
    ['a deleted file', { original: 'one\ntwo', modified: null }],
    ['a file that becomes empty', { original: 'one\n', modified: '' }],
    ['a file that was empty', { original: '', modified: 'one\n' }],
    ['a change in the middle', { original: 'a\nb\nc\nd\ne\nf\n', modified: 'a\nb\nc\nD\ne\nf\n' }],
    ['a line break that is added at the end', { original: 'a\nb', modified: 'a\nb\n' }],
    ['a line break that is removed at the end', { original: 'a\nb\n', modified: 'a\nb' }],
    ['lines that end with CRLF', { original: 'a\r\nb\r\n', modified: 'a\r\nc\r\n' }],
    [
      'lines that look like a header',
      { original: '-- a\n++ b\n', modified: '-- a\n++ c\n@@ -1 +1 @@\n' },
    ],
    [
      'more differences than are compared',
      { original: lines(4_000, 'old'), modified: lines(4_000, 'new') },
    ],
    [
      'more differences than are compared, without a line break at the ends',
      { original: `${lines(4_000, 'old')}end`, modified: `${lines(4_000, 'new')}the end` },
    ],
    ['a large new file', { original: null, modified: lines(4_000, 'new') }],
    ['a large deleted file', { original: lines(4_000, 'old'), modified: null }],
  ])('is one that git applies: %s', async (_, sides) => {
    const status =
      sides.original === null ? 'added' : sides.modified === null ? 'deleted' : 'modified';
    const patch = await filePatch({ path: 'some file.txt', status }, sides);
    expect(applied(patch ?? '', 'some file.txt', sides)).toBe(sides.modified);
  });
});

it.each<[ChangedFile['status'], string, FileSides, string | null]>([
  [
    'added',
    'a b',
    { original: null, modified: '' },
    'diff --git a/a b b/a b\nnew file mode 100644\n',
  ],
  [
    'added',
    '"',
    { original: 'a folder', modified: '' },
    'diff --git "a/\\"" "b/\\""\nnew file mode 100644\n',
  ],
  [
    'deleted',
    'a',
    { original: null, modified: 'a folder' },
    'diff --git a/a b/a\ndeleted file mode 100644\n',
  ],
  ['modified', 'a', { original: 'x', modified: 'x' }, null],
])(
  'the patch of a file that is %s, with the path %j and the sides %j, is %j',
  async (status, path, sides, patch) => {
    expect(await filePatch({ path, status }, sides)).toBe(patch);
  },
);
