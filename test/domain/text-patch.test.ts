import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { filePatch, type FileSides } from '../../src/domain/text-patch.ts';

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

const lines = (count: number, text: string) => Array.from({ length: count }, (_, at) => `${text} ${at}\n`).join('');

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
    ['lines that look like a header', { original: '-- a\n++ b\n', modified: '-- a\n++ c\n@@ -1 +1 @@\n' }],
    ['more differences than are compared', { original: lines(4_000, 'old'), modified: lines(4_000, 'new') }],
  ])('is one that git applies: %s', async (_, sides) => {
    const status = sides.original === null ? 'added' : sides.modified === null ? 'deleted' : 'modified';
    const patch = await filePatch({ path: 'some file.txt', status }, sides);
    expect(applied(patch ?? '', 'some file.txt', sides)).toBe(sides.modified);
  });
});
