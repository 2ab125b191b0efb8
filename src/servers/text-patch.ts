/** A unified diff from both sides of each file, for servers that give those and no patch. Text only. */
import type { GitChange } from '../protocol/agent-server/records.ts';
import { filePatch, isBinary, type FileSides } from '../domain/text-patch.ts';
import { isAppError } from '../errors.ts';
import type { FileChange, FilesRead, WorkspaceDiff } from './server.ts';

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
  'file modes (whether a file is executable): this server does not return them',
  'whether a file ends with a line break: this server does not return it, and the patch assumes that it does',
];

/** How many files are read at the same time; the rate limit of the server applies beside it. */
const READ_AT_ONCE = 24;

/** What such a server cannot return is named in `omissions`. */
export async function diffFromFiles(
  listChanges: () => Promise<GitChange[]>,
  readSides: (path: string) => Promise<FileSides>,
  onRead: FilesRead = () => undefined,
): Promise<WorkspaceDiff> {
  const listed = await listChanges();
  const changes: FileChange[] = listed.map(({ path, status }) => ({
    path,
    status: STATUS[status.toUpperCase()] ?? 'modified',
  }));
  const omissions: string[] = changes.length > 0 ? [...UNTOLD] : [];
  const parts: FilePart[] = [];
  const queue = changes.entries();
  let read = 0;
  if (changes.length > 0) onRead(read, changes.length);
  const reader = async (): Promise<void> => {
    for (const [index, change] of queue) {
      parts[index] = await comparedFile(change, readSides);
      onRead(++read, changes.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(READ_AT_ONCE, changes.length) }, reader));
  for (const part of parts) omissions.push(...part.omissions);
  const patch = parts.map((part) => part.patch).join('');
  return { patch: new TextEncoder().encode(patch), changes, omissions };
}

interface FilePart {
  patch: string;
  omissions: string[];
}

/** Failures that are about one path; any other ends the diff. */
const OF_ONE_PATH: ReadonlySet<string> = new Set(['not-found', 'unsupported', 'conflict', 'server']);

async function comparedFile(change: FileChange, readSides: (path: string) => Promise<FileSides>): Promise<FilePart> {
  const { path, status } = change;
  const omissions = status === 'renamed' ? [`${path}: was renamed; this server does not return its old name`] : [];
  try {
    const sides = await readSides(path);
    if (!isBinary(sides)) return { patch: await filePatch(change, wholeSides(sides)), omissions };
    return { patch: '', omissions: [`${path}: its content is not text and is left out`, ...omissions] };
  } catch (error) {
    if (!isAppError(error) || !OF_ONE_PATH.has(error.kind)) throw error;
    return { patch: '', omissions: [`${path}: it could not be compared: ${error.message}`, ...omissions] };
  }
}

function wholeSides({ original, modified }: FileSides): FileSides {
  return { original: whole(original), modified: whole(modified) };
}

function whole(text: string | null): string | null {
  return text === null || text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
