/** A unified diff from both sides of each file, for servers that give those and no patch. Text only. */
import type { GitChange } from '../protocol/agent-server/records.ts';
import { filePatch, isBinary, type FileSides } from '../domain/text-patch.ts';
import { isAppError } from '../errors.ts';
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

/** Recorded: these servers cut the last line's end off both sides. Nearly every text file has one. */
const NEVER_RETURNED = [
  'file modes (whether a file is executable): this server does not return them',
  'symbolic links: this server returns the file that a link leads to',
  'whether a file ends with a line break: this server does not return it, and the patch assumes that it does',
];

/** How many files are read at the same time; the rate limit of the server applies beside it. */
const READ_AT_ONCE = 24;

/** What such a server cannot return is named in `omissions`. */
export async function diffFromFiles(
  listChanges: () => Promise<GitChange[]>,
  readSides: (path: string) => Promise<FileSides>,
  { onRead = () => undefined, against = 'start' }: DiffOptions = {},
): Promise<WorkspaceDiff> {
  const listed = await listChanges();
  const isWhole = against === 'nothing';
  const all: FileChange[] = listed.map(({ path, status }) => ({
    path,
    status: STATUS[status.toUpperCase()] ?? 'modified',
  }));
  const changes = isWhole
    ? all.filter(({ status }) => status !== 'deleted').map(({ path }) => ({ path, status: 'added' as const }))
    : all;
  const omissions: string[] = changes.length > 0 ? [...NEVER_RETURNED] : [];
  const parts: FilePart[] = [];
  const queue = changes.entries();
  let read = 0;
  if (changes.length > 0) onRead(read, changes.length);
  const reader = async (): Promise<void> => {
    for (const [index, change] of queue) {
      parts[index] = await comparedFile(change, isWhole ? modifiedOnly(readSides) : readSides);
      onRead(++read, changes.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(READ_AT_ONCE, changes.length) }, reader));
  for (const part of parts) omissions.push(...part.omissions);
  const patch = parts.map((part) => part.patch).join('');
  return { base: null, patch: new TextEncoder().encode(patch), changes, omissions };
}

function modifiedOnly(readSides: (path: string) => Promise<FileSides>): (path: string) => Promise<FileSides> {
  return async (path) => ({ original: null, modified: (await readSides(path)).modified });
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
    if (!isBinary(sides)) {
      const repaired = withLineEnds(sides);
      if (repaired.assumed) omissions.push(`${path}: its line breaks (CRLF); those of before are assumed`);
      const patch = await filePatch(change, repaired.sides);
      if (patch === null) omissions.push(`${path}: its text is the same, and this server returns no other change`);
      return { patch: patch ?? '', omissions };
    }
    const left = isUnknown(sides) ? 'this server returned no content of it' : 'its content is not text and is left out';
    return { patch: '', omissions: [`${path}: ${left}`, ...omissions] };
  } catch (error) {
    if (!isAppError(error) || !OF_ONE_PATH.has(error.kind)) throw error;
    return { patch: '', omissions: [`${path}: it could not be compared: ${error.message}`, ...omissions] };
  }
}

function isUnknown({ original, modified }: FileSides): boolean {
  return original === null && modified === null;
}
