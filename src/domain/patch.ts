import type { StructuredPatch } from 'diff';

export interface ChangedFile {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  /** Null where the diff does not have them (binary content, a change without its text). */
  added: number | null;
  removed: number | null;
}

export type FileLines = Omit<ChangedFile, 'status'>;

export function changedFiles({
  patch,
  changes,
}: {
  patch: Uint8Array;
  changes: readonly Pick<ChangedFile, 'path' | 'status'>[];
}): ChangedFile[] {
  const files = patchFiles(new TextDecoder().decode(patch));
  return changes.map(({ path, status }) => {
    const { added = null, removed = null } = files.get(path) ?? {};
    return { path, status, added, removed };
  });
}

export function lineTotals(files: readonly FileLines[]): { added: number; removed: number } {
  return files.reduce(
    (sum, file) => ({
      added: sum.added + (file.added ?? 0),
      removed: sum.removed + (file.removed ?? 0),
    }),
    { added: 0, removed: 0 },
  );
}

const RENAMED = 'rename to ';
const HEAD_LINES: readonly (readonly [prefix: string, ChangedFile['status']])[] = [
  ['new file mode ', 'added'],
  ['deleted file mode ', 'deleted'],
  [RENAMED, 'renamed'],
];

/** The files of a patch of git by their paths, each with its part of the text. */
export function patchFiles(patch: string): Map<string, ChangedFile & { text: string }> {
  const files = new Map<string, ChangedFile & { text: string }>();
  // Not /^/m, which also matches after a carriage return in the content of a file.
  for (const text of patch.split(/(?<=\n)(?=diff --git )/)) {
    if (!text.startsWith('diff --git ')) continue;
    const start = text.indexOf('\n@@ ');
    const head = start === -1 ? text : text.slice(0, start);
    const [first = '', ...lines] = head.split('\n');
    const status =
      HEAD_LINES.find(([prefix]) => lines.some((line) => line.startsWith(prefix)))?.[1] ??
      'modified';
    // `a/name b/name`: without a rename both have the same length.
    const names = first.slice('diff --git '.length);
    const renamed = lines.find((line) => line.startsWith(RENAMED))?.replace(RENAMED, '');
    const path =
      renamed === undefined
        ? unquotePath(names.slice((names.length + 1) / 2)).replace(/^[^/]*\//, '')
        : unquotePath(renamed);
    const count = (sign: '+' | '-') =>
      start === -1 ? null : text.slice(start).split(`\n${sign}`).length - 1;
    const file = { path, status, added: count('+'), removed: count('-'), text };
    // Git deletes and adds a file that becomes a link.
    const before = files.get(path);
    files.set(
      path,
      before === undefined
        ? file
        : { path, status: 'modified', ...lineTotals([before, file]), text: before.text + text },
    );
  }
  return files;
}

/** Git quotes a path with unusual bytes, and writes these as octal escapes of UTF-8. */
export function unquotePath(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  for (const [part, octal, escape] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...Buffer.from(escape === undefined ? part : (ESCAPES[escape] ?? escape)));
  }
  return Buffer.from(bytes).toString('utf8');
}

// prettier-ignore
const ESCAPES: Record<string, string> = {
  n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v',
};

export interface FileSides {
  original: string | null;
  modified: string | null;
}

/** Time grows with the square of the differences: with more than these, all lines differ. */
const MOST_DIFFERENCES = 2_000;

export function statusOf({ original, modified }: FileSides): ChangedFile['status'] {
  if (original === null) return 'added';
  return modified === null ? 'deleted' : 'modified';
}

export function isBinary({ original, modified }: FileSides): boolean {
  return /[\0\uFFFD]/.test(`${original}${modified}`);
}

/** Null for a change that is not in the text: git refuses a patch of a file without any. */
export async function filePatch(
  { path, status }: Pick<ChangedFile, 'path' | 'status'>,
  { original, modified }: FileSides,
): Promise<string | null> {
  const { formatPatch, OMIT_HEADERS, structuredPatch } = await import('diff');
  // A server may return a text for the side that does not exist, of a folder at this path.
  const before = status === 'added' ? '' : (original ?? '');
  const after = status === 'deleted' ? '' : (modified ?? '');
  const options = { context: 3, maxEditLength: MOST_DIFFERENCES };
  const patch =
    structuredPatch('', '', before, after, undefined, undefined, options) ??
    replacement(structuredPatch('', '', before, ''), structuredPatch('', '', '', after));
  const [from, to] = [gitName(`a/${path}`), gitName(`b/${path}`)];
  const head = `diff --git ${from} ${to}\n${MODES[status]}`;
  if (patch.hunks.length === 0) return MODES[status] === '' ? null : head;
  const removed = status === 'added' ? '/dev/null' : from;
  const added = status === 'deleted' ? '/dev/null' : to;
  return `${head}--- ${removed}\n+++ ${added}\n${formatPatch(patch, OMIT_HEADERS)}`;
}

/** Git quotes a name with control characters, quotes or backslashes. */
function gitName(name: string): string {
  return /[\0-\x1f"\\]/.test(name) ? JSON.stringify(name) : name;
}

const MODES: Record<ChangedFile['status'], string> = {
  added: 'new file mode 100644\n',
  deleted: 'deleted file mode 100644\n',
  modified: '',
  renamed: '',
};

/** In one hunk: git refuses two that touch. */
function replacement(removed: StructuredPatch, added: StructuredPatch): StructuredPatch {
  const hunks = [...removed.hunks, ...added.hunks];
  const count = (side: 'oldLines' | 'newLines') => hunks.reduce((sum, hunk) => sum + hunk[side], 0);
  const hunk = {
    oldStart: 1,
    oldLines: count('oldLines'),
    newStart: 1,
    newLines: count('newLines'),
    lines: hunks.flatMap(({ lines }) => lines),
  };
  return { ...removed, hunks: [hunk] };
}
