import { describe, expect, it } from 'vitest';
import { changedFiles, lineTotals } from '../../src/domain/patch.ts';

const stat = (patch: string, ...paths: string[]) =>
  changedFiles({ patch: Buffer.from(patch), changes: paths.map((path) => ({ path, status: 'modified' as const })) });

describe('a diff', () => {
  it('has the lines of each file', () => {
    const patch = [
      'diff --git a/one.txt b/one.txt',
      '--- a/one.txt',
      '+++ b/one.txt',
      '@@ -1,2 +1,3 @@',
      ' same',
      '-old',
      '+new',
      '+newer',
      'diff --git a/gone.txt b/gone.txt',
      'deleted file mode 100644',
      '--- a/gone.txt',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-all of it',
      '',
    ].join('\n');
    expect(stat(patch, 'one.txt', 'gone.txt')).toEqual([
      { path: 'one.txt', status: 'modified', added: 2, removed: 1 },
      { path: 'gone.txt', status: 'modified', added: 0, removed: 1 },
    ]);
  });

  it('does not read content that looks like a header as one', () => {
    const patch = '--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n--- b/other\n+++ b/other\n+@@ -1 +1 @@\n';
    expect(stat(patch, 'a', 'other')).toEqual([
      { path: 'a', status: 'modified', added: 2, removed: 1 },
      { path: 'other', status: 'modified', added: null, removed: null },
    ]);
  });

  it('reads names that git quotes', () => {
    const patch = '--- "a/\\303\\274ber.txt"\n+++ "b/\\303\\274ber.txt"\n@@ -0,0 +1 @@\n+x\n';
    expect(stat(patch, 'über.txt')).toEqual([{ path: 'über.txt', status: 'modified', added: 1, removed: 0 }]);
  });

  it('has no lines for a binary file', () => {
    const patch = 'diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n';
    expect(stat(patch, 'i.png')).toEqual([{ path: 'i.png', status: 'modified', added: null, removed: null }]);
  });
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
