import { describe, expect, it } from 'vitest';
import { EditLog, RECONSTRUCTED } from '../../src/domain/edits.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';

type Event = Pick<ConversationEvent, 'id' | 'kind' | 'payload'>;

const place = { id: 'c'.repeat(32), sandbox_id: 'box', repository: 'owner/repo' };

/** A V1 observation of the file editor. */
const observed = (members: Record<string, unknown>, path = '/workspace/project/a.txt'): Event => ({
  id: '1',
  kind: 'ObservationEvent',
  payload: {
    observation: { kind: 'FileEditorObservation', command: 'str_replace', path, ...members },
  },
});

const diffOf = (...events: Event[]) => diffAt(place, ...events);

async function diffAt(at: Parameters<EditLog['diff']>[0], ...events: Event[]) {
  const log = new EditLog();
  for (const event of events) log.add(event);
  const { patch, files, omissions } = await log.diff(at);
  expect(omissions[0]).toBe(RECONSTRUCTED);
  return {
    changes: files.map(({ path, status }) => ({ path, status })),
    omissions: omissions.slice(1),
    patch: Buffer.from(patch).toString('utf8'),
  };
}

describe('the diff of edit events', () => {
  it('goes from the first content of a file to the last, over edits and what commands changed between them', async () => {
    const { patch, changes } = await diffOf(
      observed({ old_content: 'one\n', new_content: 'two\n' }),
      observed({ old_content: 'by a command\n', new_content: 'three\n' }),
    );
    expect(changes).toEqual([{ path: 'a.txt', status: 'modified' }]);
    expect(patch).toBe(
      'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+three\n',
    );
  });

  it('has new files, and none that was created and taken back', async () => {
    const created = { command: 'create', prev_exist: false, new_content: 'one' };
    const undone = [created, { command: 'undo_edit', old_content: 'one' }].map((of) =>
      observed(of, '/workspace/b.txt'),
    );
    const { changes, omissions, patch } = await diffOf(observed(created), ...undone);
    expect(omissions).toEqual([]);
    expect(changes).toEqual([{ path: 'a.txt', status: 'added' }]);
    expect(patch).toContain('+one\n\\ No newline at end of file\n');
  });

  it('leaves out failed edits, views, edits without a path, and edits that changed nothing', async () => {
    const { changes, omissions } = await diffOf(
      observed({ old_content: 'a', new_content: 'b' }, ''),
      observed({ old_content: 'a', new_content: 'a' }),
      observed({ is_error: true, old_content: 'a', new_content: 'b' }),
      observed({ command: 'view', old_content: 'a', new_content: 'b' }),
    );
    expect([...changes, ...omissions]).toEqual([]);
  });

  it('takes edits and writes of V0, and no write that failed', async () => {
    const write = (id: string, path: string): Event => ({
      id,
      kind: 'action:write',
      payload: { args: { path, content: `${path}\n` } },
    });
    const { changes, omissions, patch } = await diffOf(
      {
        id: '1',
        kind: 'observation:edit',
        payload: {
          extras: {
            path: '/workspace/repo/a.txt',
            prev_exist: true,
            old_content: 'a\n',
            new_content: 'b\n',
          },
        },
      },
      write('2', '/workspace/repo/b.txt'),
      {
        id: '3',
        kind: 'observation:write',
        payload: { cause: 2, extras: { path: '/workspace/repo/b.txt' } },
      },
      write('4', '/workspace/repo/c.txt'),
      { id: '5', kind: 'observation:error', payload: { cause: 4 } },
    );
    expect(changes).toEqual([
      { path: 'a.txt', status: 'modified' },
      { path: 'b.txt', status: 'added' },
    ]);
    expect(omissions).toEqual(['b.txt: the previous content is unknown; shown as a new file']);
    expect(patch).toContain('+/workspace/repo/b.txt\n');
  });

  it.each([
    ['/workspace/project/repo/src/a.ts', 'src/a.ts'],
    ['/workspace/repo/src/a.ts', 'src/a.ts'],
    [`/workspace/project/${place.id}/src/a.ts`, 'src/a.ts'],
    ['/home/user/data/workspaces/box/src/a.ts', 'src/a.ts'],
    ['src/./a.ts', 'src/a.ts'],
  ])('has paths from the repository on: %s', async (path, shown) => {
    const { changes } = await diffOf(observed({ old_content: 'a', new_content: 'b' }, path));
    expect(changes.map((change) => change.path)).toEqual([shown]);
  });

  it.each([null, ''])(
    'has paths from the workspace on where the sandbox is %j',
    async (sandbox_id) => {
      const paths = ['/workspace/x.git/a.ts', '/workspace/y/a.ts', '/home/undefined/a.ts'];
      const edits = paths.map((path) => observed({ old_content: 'a', new_content: 'b' }, path));
      const { changes, omissions } = await diffAt(
        { ...place, sandbox_id, repository: 'owner/y.git' },
        ...edits,
      );
      expect(changes.map(({ path }) => path)).toEqual(['x.git/a.ts', 'a.ts']);
      expect(omissions).toEqual(['/home/undefined/a.ts: outside the workspace']);
    },
  );

  it.each([
    '/tmp/a.txt',
    '..',
    '/workspace/',
    '../../x',
    '/workspace/../x',
    '/workspace/project/../../x',
  ])('names a path outside of the workspace instead of its change: %s', async (path) => {
    const { changes, omissions, patch } = await diffOf(
      observed({ old_content: 'a', new_content: 'b' }, path),
    );
    expect({ changes, patch }).toEqual({ changes: [], patch: '' });
    expect(omissions).toEqual([`${path}: outside the workspace`]);
  });

  it('names files without their content, and those that are not text', async () => {
    const { changes, omissions } = await diffOf(
      observed({}),
      observed({ old_content: 'a\0', new_content: 'b' }, '/workspace/b'),
      observed({ command: 'undo_edit' }, '/workspace/c'),
      observed({ prev_exist: true, old_content: null, new_content: 'd' }, '/workspace/d'),
      observed({ command: 'undo_edit', old_content: 'e' }, '/workspace/e'),
    );
    expect(changes.map(({ path, status }) => `${path}: ${status}`)).toEqual([
      'd: added',
      'e: deleted',
    ]);
    expect(omissions).toEqual([
      'a.txt: edited; the events do not have the content',
      'b: binary content',
      'c: deleted; the events do not have the content',
      'd: the previous content is unknown; shown as a new file',
    ]);
  });
});
