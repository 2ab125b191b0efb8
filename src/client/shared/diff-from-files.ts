/** A unified diff of text from both sides of each file, for servers that return no patch. */
import type { GitChange } from '../../protocol/agent-server/records.ts';
import { filePatch, isBinary, type FileSides } from '../../domain/patch.ts';
import { mapConcurrently } from '../../base/concurrent.ts';
import { isOfKind } from '../../base/errors.ts';
import { withLineEnds } from './quirks/line-ends-v0.ts';
import type { DiffOptions, FileChange, WorkspaceDiff } from './server.ts';

const STATUS: Record<string, FileChange['status']> = {
  A: 'added',
  U: 'added',
  ADDED: 'added',
  M: 'modified',
  UPDATED: 'modified',
  D: 'deleted',
  DELETED: 'deleted',
  R: 'renamed',
  MOVED: 'renamed',
};

const NEVER_RETURNED = [
  'file modes: the server does not return them',
  'symbolic links: the server returns the content of the target instead',
  // Recorded: these servers cut the last line break off both sides. Nearly every text file has one.
  'final line breaks: the server does not return them; the patch assumes that every file ' +
    'ends with one',
];

const ASSUMED = 'CRLF line breaks: the server returns LF; CRLF is assumed, as before the run';
const SAME_TEXT = 'the text did not change, and the server returns no other kind of change';

const READ_AT_ONCE = 24;

const isOfOnePath = isOfKind('not-found', 'unsupported', 'conflict', 'server');

interface FilePart {
  patch: string;
  omissions: string[];
}

export async function diffFromFiles(
  listChanges: () => Promise<GitChange[]>,
  readSides: (path: string) => Promise<FileSides>,
  { onRead = () => undefined, against = 'start' }: DiffOptions = {},
): Promise<WorkspaceDiff> {
  const all = (await listChanges()).map(({ path, status }): FileChange => ({
    path,
    status: STATUS[status.toUpperCase()] ?? 'modified',
  }));
  const left = all.filter(({ status }) => status !== 'deleted');
  const changes =
    against === 'start' ? all : left.map(({ path }): FileChange => ({ path, status: 'added' }));
  const compare = async (change: FileChange): Promise<FilePart> => {
    const omissions =
      change.status === 'renamed' ? ['renamed; the server does not return the old name'] : [];
    try {
      const { original, modified } = await readSides(change.path);
      if (original?.startsWith('version https://git-lfs.github.com/'))
        return { patch: '', omissions: ['a file of Git LFS, which is not compared', ...omissions] };
      const sides = { original: against === 'start' ? original : null, modified };
      const part = await patchOf(change, sides);
      return { patch: part.patch, omissions: [...part.omissions, ...omissions] };
    } catch (error) {
      if (!isOfOnePath(error)) throw error;
      return { patch: '', omissions: [`not compared: ${error.message}`, ...omissions] };
    }
  };
  let read = 0;
  if (changes.length > 0) onRead(read, changes.length);
  const parts = await mapConcurrently(changes, READ_AT_ONCE, async (change): Promise<FilePart> => {
    const { patch, omissions } = await compare(change);
    onRead(++read, changes.length);
    return { patch, omissions: omissions.map((omission) => `${change.path}: ${omission}`) };
  });
  const patch = parts.map((part) => part.patch).join('');
  const omissions =
    changes.length > 0 ? [...NEVER_RETURNED, ...parts.flatMap((part) => part.omissions)] : [];
  return { base: null, patch: new TextEncoder().encode(patch), changes, omissions };
}

async function patchOf(change: FileChange, served: FileSides): Promise<FilePart> {
  if (served.original === null && served.modified === null)
    return { patch: '', omissions: ['the server returned no content'] };
  if (isBinary(served)) return { patch: '', omissions: ['binary content'] };
  const { sides, assumed } = withLineEnds(served);
  const patch = await filePatch(change, sides);
  const omissions = [...(assumed ? [ASSUMED] : []), ...(patch === null ? [SAME_TEXT] : [])];
  return { patch: patch ?? '', omissions };
}
