/**
 * Which records a selector takes: pure matching, the same for lists and for changes. Conditions intersect. What cannot
 * be known of a record (a time it does not carry) satisfies neither a condition nor its `not` twin, so that nothing is
 * changed on the strength of a guess.
 */
export interface Selection {
  status?: readonly string[];
  notStatus?: readonly string[];
  /** Created at least this many milliseconds ago. */
  olderThanMs?: number;
  notOlderThanMs?: number;
  /** No run in progress, and nothing updated for this many milliseconds. */
  idleMs?: number;
  notIdleMs?: number;
  spec?: readonly string[];
  notSpec?: readonly string[];
  /** Globs over a whole repository name: `*` stops at a slash, `**` does not. */
  repo?: readonly string[];
  notRepo?: readonly string[];
}

/** What selectors look at, of a conversation or a sandbox. */
export interface Selectable {
  status: string;
  /** RFC 3339. */
  created_at: string | null;
  /** Last sign of life, RFC 3339. */
  updated_at: string | null;
  /** Whether a run is in progress; null when that is not known. */
  running: boolean | null;
  spec_id: string | null;
  repositories: readonly string[];
}

export function isSelected(record: Selectable, selection: Selection, nowMs: number): boolean {
  return (
    isOneOf(record.status, selection.status) &&
    isNoneOf(record.status, selection.notStatus) &&
    isAge(ageMs(record.created_at, nowMs), selection.olderThanMs, selection.notOlderThanMs) &&
    isIdle(record, selection, nowMs) &&
    isOneOf(record.spec_id, selection.spec) &&
    isNoneOf(record.spec_id, selection.notSpec) &&
    isRepository(record.repositories, selection.repo) &&
    !(selection.notRepo && isRepository(record.repositories, selection.notRepo))
  );
}

function isOneOf(value: string | null, words: readonly string[] | undefined): boolean {
  return words === undefined || (value !== null && words.includes(value));
}

function isNoneOf(value: string | null, words: readonly string[] | undefined): boolean {
  return words === undefined || value === null || !words.includes(value);
}

function ageMs(time: string | null, nowMs: number): number | null {
  if (time === null) return null;
  const then = Date.parse(time);
  return Number.isNaN(then) ? null : nowMs - then;
}

function isAge(age: number | null, atLeast: number | undefined, lessThan: number | undefined): boolean {
  if (atLeast !== undefined && (age === null || age < atLeast)) return false;
  return lessThan === undefined || (age !== null && age < lessThan);
}

function isIdle(record: Selectable, { idleMs, notIdleMs }: Selection, nowMs: number): boolean {
  if (idleMs === undefined && notIdleMs === undefined) return true;
  if (record.running === true) return idleMs === undefined;
  const quiet = ageMs(record.updated_at ?? record.created_at, nowMs);
  if (notIdleMs !== undefined && (quiet === null || quiet >= notIdleMs)) return false;
  return idleMs === undefined || (record.running === false && quiet !== null && quiet >= idleMs);
}

function isRepository(repositories: readonly string[], globs: readonly string[] | undefined): boolean {
  return globs === undefined || repositories.some((name) => globs.some((glob) => matchesGlob(name, glob)));
}

/**
 * `*` any characters but a slash, `**` any at all, `?` one that is not a slash; letter case does not matter. Works in
 * pattern times text steps: a pattern of many stars must not hang on a long name.
 */
export function matchesGlob(text: string, glob: string): boolean {
  const tokens = glob.toLowerCase().match(/\*\*+|[^]/gu) ?? [];
  const characters = [...text.toLowerCase()];
  let reached = [true, ...characters.map(() => false)];
  for (const token of tokens) {
    const next = [token.startsWith('*') && reached[0] === true];
    for (const [index, character] of characters.entries()) {
      const before = reached[index] === true;
      if (token.startsWith('*')) {
        const crosses = token.length > 1 || character !== '/';
        next.push(reached[index + 1] === true || (crosses && next[index] === true));
      } else {
        next.push(before && (token === character || (token === '?' && character !== '/')));
      }
    }
    reached = next;
  }
  return reached[characters.length] === true;
}
