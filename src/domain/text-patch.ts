/** The unified diff of one text file from both of its sides, as git prints it. */
import type { ChangedFile } from './patch.ts';

export interface FileSides {
  /** Null: the file does not exist on this side. */
  original: string | null;
  modified: string | null;
}

/** The comparison of two texts takes time with the square of their differences: with more than these, all lines differ. */
const MOST_DIFFERENCES = 2_000;

export function statusOf({ original, modified }: FileSides): ChangedFile['status'] {
  if (original === null) return 'added';
  return modified === null ? 'deleted' : 'modified';
}

/** Whether one side holds what is not text, or there is no side at all. */
export function isBinary({ original, modified }: FileSides): boolean {
  const looksBinary = (text: string | null): boolean =>
    text !== null && (text.includes('\0') || text.includes('\uFFFD'));
  return (original === null && modified === null) || looksBinary(original) || looksBinary(modified);
}

/** Null for a change that is not in the text: git refuses a patch of a file without any. */
export async function filePatch(
  { path, status }: Pick<ChangedFile, 'path' | 'status'>,
  { original, modified }: FileSides,
): Promise<string | null> {
  // A server may return a text for the side that does not exist: of a folder that was in the place of a new file.
  const hunks = await hunksOf(status === 'added' ? '' : (original ?? ''), status === 'deleted' ? '' : (modified ?? ''));
  if (hunks.length === 0 && status !== 'added' && status !== 'deleted') return null;
  const quoted = quotePath(path);
  const lines = [`diff --git ${quoted('a')} ${quoted('b')}`];
  if (status === 'added') lines.push('new file mode 100644');
  if (status === 'deleted') lines.push('deleted file mode 100644');
  if (hunks.length > 0) {
    lines.push(
      `--- ${status === 'added' ? '/dev/null' : quoted('a')}`,
      `+++ ${status === 'deleted' ? '/dev/null' : quoted('b')}`,
    );
  }
  for (const hunk of hunks) {
    lines.push(`@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`);
    for (const line of hunk.lines) lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}

interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

async function hunksOf(original: string, modified: string): Promise<Hunk[]> {
  if (original === modified) return [];
  if (original === '' || modified === '') return [replaced(original, modified)];
  // The one place that loads the diff library.
  const { structuredPatch } = await import('diff');
  const compared = structuredPatch('a', 'b', original, modified, undefined, undefined, {
    context: 3,
    maxEditLength: MOST_DIFFERENCES,
  });
  return compared?.hunks ?? [replaced(original, modified)];
}

/** All lines of one side are removed and all of the other are added. */
function replaced(original: string, modified: string): Hunk {
  const removed = linesOf(original);
  const added = linesOf(modified);
  return {
    oldStart: 1,
    oldLines: removed.count,
    newStart: 1,
    newLines: added.count,
    lines: [...removed.marked('-'), ...added.marked('+')],
  };
}

function linesOf(text: string): { count: number; marked(mark: string): string[] } {
  const lines = text === '' ? [] : text.split('\n');
  const hasEnd = lines.at(-1) === '';
  if (hasEnd) lines.pop();
  return {
    count: lines.length,
    marked(mark) {
      const marked = lines.map((line) => mark + line);
      return lines.length === 0 || hasEnd ? marked : [...marked, '\\ No newline at end of file'];
    },
  };
}

function range(start: number, count: number): string {
  // Git writes line 0 for the side that has no lines.
  return `${count === 0 && start === 1 ? 0 : start},${count}`;
}

/** A path with bytes git quotes is quoted as git does. */
function quotePath(path: string): (side: 'a' | 'b') => string {
  const special = [...path].some((character) => character < ' ' || character === '"' || character === '\\');
  return (side) => (special ? JSON.stringify(`${side}/${path}`) : `${side}/${path}`);
}
