import { describe, expect, it } from 'vitest';
import { connectedV0, ID } from '../support/connected-v0.ts';

const v0 = connectedV0();

describe('the difference over V0', () => {
  it('is computed from both sides of each file, and names files whose sides cannot be read', async () => {
    const sides: Record<string, { original: string | null; modified: string | null }> = {
      'changed.txt': { original: 'a\nb\nc', modified: 'a\nB\nc' },
      'new.txt': { original: '', modified: 'hello' },
      'gone.txt': { original: 'bye\n', modified: '' },
      'image.png': { original: null, modified: '\0PNG' },
    };
    v0.world.before = ({ path, query }) => {
      if (path.endsWith('/git/changes')) {
        return {
          json: [
            ['changed.txt', 'M'],
            ['new.txt', 'U'],
            ['gone.txt', 'D'],
            ['image.png', 'A'],
          ].map(([name, status]) => ({ path: name, status })),
        };
      }
      return path.endsWith('/git/diff') ? { json: sides[query.get('path') ?? ''] } : null;
    };
    const { patch, changes, omissions } = await v0.server.conversations.diff(ID);
    expect(changes.map((one) => one.status)).toEqual(['modified', 'added', 'deleted', 'added']);
    expect(new TextDecoder().decode(patch)).toBe(
      [
        'diff --git a/changed.txt b/changed.txt',
        '--- a/changed.txt',
        '+++ b/changed.txt',
        '@@ -1,3 +1,3 @@',
        ' a',
        '-b',
        '+B',
        ' c',
        'diff --git a/new.txt b/new.txt',
        'new file mode 100644',
        '--- /dev/null',
        '+++ b/new.txt',
        '@@ -0,0 +1,1 @@',
        '+hello',
        'diff --git a/gone.txt b/gone.txt',
        'deleted file mode 100644',
        '--- a/gone.txt',
        '+++ /dev/null',
        '@@ -1,1 +0,0 @@',
        '-bye',
        '',
      ].join('\n'),
    );
    expect(omissions.join('\n')).toMatch(/file modes[\s\S]*image\.png: its content is not text/);
  });

  it('names a path that cannot be compared and continues, keeps the order, and reports each file', async () => {
    const names = ['gone.txt', ...Array.from({ length: 9 }, (_, index) => `new-${index}.txt`)];
    v0.world.before = ({ path, query }) => {
      if (path.endsWith('/git/changes')) return { json: names.map((name) => ({ path: name, status: 'A' })) };
      if (!path.endsWith('/git/diff')) return null;
      const name = query.get('path') ?? '';
      return name === 'gone.txt'
        ? { status: 404, json: { error: 'no such file' } }
        : { json: { original: '', modified: name } };
    };
    const reports: [number, number][] = [];
    const { patch, changes, omissions } = await v0.server.conversations.diff(ID, {
      onRead: (read, of) => reports.push([read, of]),
    });
    expect(changes.map((one) => one.path)).toEqual(names);
    const compared = [...new TextDecoder().decode(patch).matchAll(/^\+(new-.*)$/gm)].map(([, name]) => name);
    expect(compared).toEqual(names.slice(1));
    expect(omissions.at(-1)).toMatch(/^gone\.txt: it could not be compared: /);
    expect(reports).toEqual(Array.from({ length: names.length + 1 }, (_, read) => [read, names.length]));
  });
});
