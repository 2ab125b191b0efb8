/** A unified diff from both sides of each file, for servers that give those and no patch. Text only. */
import type { GitChange } from '../protocol/agent-server/records.ts';
import type { FileChange, WorkspaceDiff } from './server.ts';

export interface FileSides {
  original: string | null;
  modified: string | null;
}

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

/** Recorded: these servers cut the last line's end off both sides. Nearly every text file has one. */
const UNTOLD = [
  'file modes (whether a file is executable) are not told by this server',
  'whether a file ends with a line break is not told by this server; the patch assumes that it does',
];

/** What such a server cannot tell is named in `omissions`. */
export async function diffFromFiles(
  listChanges: () => Promise<GitChange[]>,
  readSides: (path: string) => Promise<FileSides>,
): Promise<WorkspaceDiff> {
  const listed = await listChanges();
  const changes: FileChange[] = listed.map(({ path, status }) => ({
    path,
    status: STATUS[status.toUpperCase()] ?? 'modified',
  }));
  const omissions: string[] = changes.length > 0 ? [...UNTOLD] : [];
  const patches: string[] = [];
  for (const change of changes) {
    const sides = await readSides(change.path);
    if (isBinary(sides)) omissions.push(`${change.path}: its content is not text and is left out`);
    else patches.push(await filePatch(change, sides));
    if (change.status === 'renamed') omissions.push(`${change.path}: was renamed; from where is not told`);
  }
  return { patch: new TextEncoder().encode(patches.join('')), changes, omissions };
}

function isBinary({ original, modified }: FileSides): boolean {
  const looksBinary = (text: string | null): boolean =>
    text !== null && (text.includes('\0') || text.includes('\uFFFD'));
  return (original === null && modified === null) || looksBinary(original) || looksBinary(modified);
}

async function filePatch(change: FileChange, { original, modified }: FileSides): Promise<string> {
  // The one place that loads the diff library.
  const { structuredPatch } = await import('diff');
  const { hunks } = structuredPatch(change.path, change.path, whole(original), whole(modified), undefined, undefined, {
    context: 3,
  });
  const path = quotePath(change.path);
  const lines = [`diff --git ${path('a')} ${path('b')}`];
  if (change.status === 'added') lines.push('new file mode 100644');
  if (change.status === 'deleted') lines.push('deleted file mode 100644');
  if (hunks.length > 0) {
    lines.push(
      `--- ${change.status === 'added' ? '/dev/null' : path('a')}`,
      `+++ ${change.status === 'deleted' ? '/dev/null' : path('b')}`,
    );
  }
  for (const hunk of hunks) {
    lines.push(`@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`, ...hunk.lines);
  }
  return `${lines.join('\n')}\n`;
}

function whole(text: string | null): string {
  return text === null || text === '' || text.endsWith('\n') ? (text ?? '') : `${text}\n`;
}

function range(start: number, count: number): string {
  // Git says line 0 for the side that has no lines.
  return `${count === 0 && start === 1 ? 0 : start},${count}`;
}

/** A path with bytes git quotes is quoted as git does. */
function quotePath(path: string): (side: 'a' | 'b') => string {
  const special = [...path].some((character) => character < ' ' || character === '"' || character === '\\');
  return (side) => (special ? JSON.stringify(`${side}/${path}`) : `${side}/${path}`);
}
