/** Reading a unified diff as git prints it: how many lines each file gained and lost. */

export interface ChangedFile {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  /** Lines; null where the diff does not have them (binary content, a change without its text). */
  added: number | null;
  removed: number | null;
}

export interface PatchWithChanges {
  patch: Uint8Array;
  changes: readonly Pick<ChangedFile, 'path' | 'status'>[];
}

/** The changes with the lines counted in the patch; files are matched by their path. */
export function changedFiles({ patch, changes }: PatchWithChanges): ChangedFile[] {
  const counts = countLines(new TextDecoder().decode(patch));
  return changes.map(({ path, status }) => {
    const count = counts.get(path);
    return { path, status, added: count?.added ?? null, removed: count?.removed ?? null };
  });
}

/** The sums over the files whose lines are known. */
export function lineTotals(files: readonly ChangedFile[]): Count {
  return files.reduce(
    (sum, file) => ({ added: sum.added + (file.added ?? 0), removed: sum.removed + (file.removed ?? 0) }),
    { added: 0, removed: 0 },
  );
}

interface Count {
  added: number;
  removed: number;
}

function countLines(patch: string): Map<string, Count> {
  const counts = new Map<string, Count>();
  let current: Count | null = null;
  let oldPath: string | null = null;
  // Lines of a hunk that are still to come: a line of content may begin like a header.
  let left = { old: 0, new: 0 };
  for (const line of patch.split('\n')) {
    if (left.old > 0 || left.new > 0) {
      if (line.startsWith('+')) left.new -= 1;
      else if (line.startsWith('-')) left.old -= 1;
      else if (!line.startsWith('\\')) left = { old: left.old - 1, new: left.new - 1 };
      if (current && line.startsWith('+')) current.added += 1;
      if (current && line.startsWith('-')) current.removed += 1;
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) left = { old: Number(hunk[1] ?? 1), new: Number(hunk[2] ?? 1) };
    else if (line.startsWith('--- ')) oldPath = pathOf(line.slice(4));
    else if (line.startsWith('+++ ')) {
      const path = pathOf(line.slice(4)) ?? oldPath;
      current = { added: 0, removed: 0 };
      if (path !== null) counts.set(path, current);
    }
  }
  return counts;
}

/** Null for /dev/null. Quoted names keep their escapes undone. */
function pathOf(text: string): string | null {
  const plain = text.replace(/\t.*$/, '');
  const name = unquotePath(plain);
  return name === '/dev/null' ? null : name.replace(/^[ab]\//, '');
}

/** A path as git prints it. Git quotes a name with unusual bytes, and writes these as octal escapes of its UTF-8. */
export function unquotePath(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  const inner = text.slice(1, text.endsWith('"') ? -1 : undefined);
  for (const [part] of inner.matchAll(/\\[0-7]{3}|\\.|[^\\]+/g)) {
    if (/^\\[0-7]{3}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 8));
    else if (part.startsWith('\\')) bytes.push(...Buffer.from(ESCAPES[part[1] ?? ''] ?? part.slice(1)));
    else bytes.push(...Buffer.from(part));
  }
  return Buffer.from(bytes).toString('utf8');
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };
