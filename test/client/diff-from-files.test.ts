import { describe, expect, it } from 'vitest';
import { diffFromFiles } from '../../src/client/shared/diff-from-files.ts';
import type { FileSides } from '../../src/domain/patch.ts';

/** The patch as text, and the omissions that name the file. */
async function diffOf(status: string, sides: FileSides, against?: 'nothing') {
  const { patch, changes, omissions } = await diffFromFiles(
    () => Promise.resolve([{ path: 'a.txt', status }]),
    () => Promise.resolve(sides),
    against === undefined ? {} : { against },
  );
  return {
    patch: new TextDecoder().decode(patch),
    changes,
    omissions: omissions.filter((omission) => omission.startsWith('a.txt: ')),
  };
}

describe('a diff of both sides of a file', () => {
  it('has no patch for a change that is not in the text, and names the file', async () => {
    expect(await diffOf('M', { original: 'same\n', modified: 'same\n' })).toMatchObject({
      patch: '',
      omissions: ['a.txt: the text did not change, and the server returns no other kind of change'],
    });
  });

  it('ends the last line as the other lines when the server cut it off', async () => {
    const { patch } = await diffOf('M', { original: 'a\r\nb', modified: 'a\r\nB\r\nc' });
    expect(patch).toContain(' a\r\n-b\r\n+B\r\n+c\r\n');
  });

  it('keeps the line breaks of before when the server returns none of them, and names the file', async () => {
    const { patch, omissions } = await diffOf('M', { original: 'a\r\nb\r\n', modified: 'a\nB\n' });
    expect(patch).toContain(' a\r\n-b\r\n+B\r\n');
    expect(omissions).toEqual([
      'a.txt: CRLF line breaks: the server returns LF; CRLF is assumed, as before the run',
    ]);
  });

  it('ignores an original side of a new file, which was a folder before', async () => {
    const { patch } = await diffOf('A', { original: 'tree HEAD:a.txt\n', modified: 'new\n' });
    expect(patch).toContain('--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+new\n');
  });

  it('names a file without any content', async () => {
    expect((await diffOf('D', { original: null, modified: null })).omissions).toEqual([
      'a.txt: the server returned no content',
    ]);
  });

  it('against nothing has the changed files as new ones and no deleted file', async () => {
    const { patch, changes } = await diffOf(
      'M',
      { original: 'old\n', modified: 'new\n' },
      'nothing',
    );
    expect(changes).toEqual([{ path: 'a.txt', status: 'added' }]);
    expect(patch).toContain('--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+new\n');
    expect(await diffOf('D', { original: 'old\n', modified: null }, 'nothing')).toMatchObject({
      patch: '',
      changes: [],
    });
  });
});
