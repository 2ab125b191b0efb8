/** A record that lacks what a condition compares does not satisfy it. */
export interface Selection {
  status?: readonly string[] | undefined;
  olderThanMs?: number | undefined;
  /** No run in progress, and nothing updated for this many milliseconds. */
  idleMs?: number | undefined;
  spec?: readonly string[] | undefined;
  /** Whole names, their last parts, or globs. */
  repo?: readonly string[] | undefined;
}

export interface Selectable {
  status: string;
  created_at: string | null;
  updated_at: string | null;
  running: boolean | null;
  spec_id: string | null;
  repositories: readonly string[];
}

export function isSelected(
  { status, created_at, updated_at, running, spec_id, repositories }: Selectable,
  selection: Selection,
  nowMs: number,
): boolean {
  const { olderThanMs, idleMs, spec, repo } = selection;
  const isPast = (time: string | null, ageMs: number): boolean =>
    time !== null && nowMs - Date.parse(time) >= ageMs;
  return (
    (selection.status === undefined || selection.status.includes(status)) &&
    (olderThanMs === undefined || isPast(created_at, olderThanMs)) &&
    (idleMs === undefined || (running === false && isPast(updated_at ?? created_at, idleMs))) &&
    (spec === undefined || (spec_id !== null && spec.includes(spec_id))) &&
    (repo === undefined ||
      repositories.some((name) => repo.some((pattern) => matchesRepository(name, pattern))))
  );
}

/**
 * Whether a pattern is the name, its last part, or a glob whose `*` also matches `/`; letter case
 * does not matter.
 */
export function matchesRepository(name: string, pattern: string): boolean {
  const text = name.toLowerCase();
  const [first = '', ...others] = pattern.toLowerCase().split('*');
  const last = others.pop();
  if (last === undefined) return text === first || text.endsWith(`/${first}`);
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  // The leftmost match of each part leaves the most text for the parts after it.
  let end = first.length;
  for (const part of others) {
    const start = text.indexOf(part, end);
    if (start === -1) return false;
    end = start + part.length;
  }
  return end <= text.length - last.length;
}
