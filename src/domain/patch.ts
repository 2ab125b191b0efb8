export interface ChangedFile {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  /** Null where the diff does not have them (binary content, a change without its text). */
  added: number | null;
  removed: number | null;
}

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

export function lineTotals(files: readonly ChangedFile[]): { added: number; removed: number } {
  return files.reduce(
    (sum, file) => ({
      added: sum.added + (file.added ?? 0),
      removed: sum.removed + (file.removed ?? 0),
    }),
    { added: 0, removed: 0 },
  );
}

/** The files of a patch of git by their paths, each with its part of the text. */
export function patchFiles(patch: string): Map<string, ChangedFile & { text: string }> {
  const files = new Map<string, ChangedFile & { text: string }>();
  // Not /^/m, which also matches after a carriage return in the content of a file.
  for (const text of patch.split(/(?<=\n)(?=diff --git )/)) {
    if (!text.startsWith('diff --git ')) continue;
    const start = text.indexOf('\n@@ ');
    const head = start === -1 ? text : text.slice(0, start);
    const [first = '', ...lines] = head.split('\n');
    const find = (prefix: string) =>
      lines.find((line) => line.startsWith(prefix))?.slice(prefix.length);
    // `a/name b/name`: without a rename both are the same.
    const names = first.slice('diff --git '.length);
    const renamed = find('rename to ');
    const path = unquotePath(renamed ?? names.slice((names.length + 1) / 2)).slice(
      renamed === undefined ? 2 : 0,
    );
    let status: ChangedFile['status'] = renamed === undefined ? 'modified' : 'renamed';
    if (find('new file mode ') !== undefined) status = 'added';
    if (find('deleted file mode ') !== undefined) status = 'deleted';
    const count = (sign: '+' | '-') => text.slice(start).split(`\n${sign}`).length - 1;
    const counts =
      start === -1 ? { added: null, removed: null } : { added: count('+'), removed: count('-') };
    // Git deletes and adds a file that becomes a link.
    const known = files.get(path);
    if (known === undefined) files.set(path, { path, status, ...counts, text });
    else
      files.set(path, {
        path,
        status: 'modified',
        ...lineTotals([known, { path, status, ...counts }]),
        text: known.text + text,
      });
  }
  return files;
}

/**
 * A path as git prints it. Git quotes a name with unusual bytes, and writes these as octal escapes
 * of its UTF-8.
 */
export function unquotePath(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  for (const [part, octal, escape] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...Buffer.from(escape === undefined ? part : (ESCAPES[escape] ?? escape)));
  }
  return Buffer.from(bytes).toString('utf8');
}

const ESCAPES: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};

export interface FileSides {
  /** Null: the file does not exist. */
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
  // A server may return a text for the side that does not exist: of a folder that was in the place
  // of a new file.
  const hunks = await hunksOf(
    status === 'added' ? '' : (original ?? ''),
    status === 'deleted' ? '' : (modified ?? ''),
  );
  if (hunks.length === 0 && status !== 'added' && status !== 'deleted') return null;
  // Git quotes a path with control characters, quotes or backslashes.
  const quoted = (side: 'a' | 'b') => {
    const name = `${side}/${path}`;
    return /[\0-\x1f"\\]/.test(path) ? JSON.stringify(name) : name;
  };
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
    lines.push(
      `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    );
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
  const { structuredPatch } = await import('diff');
  const compared = structuredPatch('a', 'b', original, modified, undefined, undefined, {
    context: 3,
    maxEditLength: MOST_DIFFERENCES,
  });
  return compared?.hunks ?? [replaced(original, modified)];
}

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
  const lines = text.split('\n');
  const hasEnd = lines.at(-1) === '';
  if (hasEnd) lines.pop();
  return {
    count: lines.length,
    marked(mark) {
      const marked = lines.map((line) => mark + line);
      return hasEnd ? marked : [...marked, '\\ No newline at end of file'];
    },
  };
}

function range(start: number, count: number): string {
  // Git writes line 0 for the side that has no lines.
  return `${count === 0 ? 0 : start},${count}`;
}
