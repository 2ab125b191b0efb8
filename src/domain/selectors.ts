/** A record that lacks what a condition compares does not satisfy it. */
export interface Selection {
  status?: readonly string[] | undefined;
  olderThanMs?: number | undefined;
  newerThanMs?: number | undefined;
  /** No run in progress, and nothing updated for this many milliseconds. */
  idleMs?: number | undefined;
  spec?: readonly string[] | undefined;
  /** Whole names, their last parts, or globs. */
  repo?: readonly string[] | undefined;
  /** In the title or a repository, in any letter case. */
  search?: string | undefined;
}

export interface Selectable {
  title?: string | null;
  status: string;
  created_at: string | null;
  updated_at: string | null;
  running: boolean | null;
  spec_id: string | null;
  repositories: readonly string[];
}

const isPast = (time: string | null, ageMs: number, nowMs: number): boolean =>
  time !== null && nowMs - Date.parse(time) >= ageMs;

type Condition<Value> = (record: Selectable, value: Value, nowMs: number) => boolean;

const CONDITIONS: { [Name in keyof Selection]-?: Condition<NonNullable<Selection[Name]>> } = {
  status: ({ status }, statuses) => statuses.includes(status),
  olderThanMs: ({ created_at }, ageMs, nowMs) => isPast(created_at, ageMs, nowMs),
  newerThanMs: ({ created_at }, ageMs, nowMs) =>
    created_at !== null && !isPast(created_at, ageMs, nowMs),
  idleMs: ({ running, updated_at, created_at }, ageMs, nowMs) =>
    running === false && isPast(updated_at ?? created_at, ageMs, nowMs),
  spec: ({ spec_id }, specs) => spec_id !== null && specs.includes(spec_id),
  repo: ({ repositories }, patterns) =>
    repositories.some((name) => patterns.some((pattern) => matchesRepository(name, pattern))),
  search: ({ title, repositories }, text) =>
    [title ?? '', ...repositories].some((each) => each.toLowerCase().includes(text.toLowerCase())),
};

export function isSelected(record: Selectable, selection: Selection, nowMs: number): boolean {
  return (Object.keys(CONDITIONS) as (keyof Selection)[]).every((name) => {
    const holds = CONDITIONS[name] as Condition<unknown>;
    return selection[name] === undefined || holds(record, selection[name], nowMs);
  });
}

/** A pattern is a name, its last part, or a glob whose `*` matches `/` too; any letter case. */
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
