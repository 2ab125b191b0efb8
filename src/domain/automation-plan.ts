/** What `automation apply` does: files compared with the automations of a server. */
import { createHash } from 'node:crypto';
import { AppError } from '../base/errors.ts';
import { isRecord, withoutNull, type Json } from '../protocol/shape.ts';
import type { Automation, AutomationDraft } from './automation.ts';

export interface AutomationFile {
  file: string;
  name: string;
  /** Without `template` and without members that are null. */
  draft: AutomationDraft;
}

export interface Difference {
  field: string;
  before: unknown;
  after: unknown;
}

export type Step = { differences: Difference[] } & (
  | { action: 'create'; file: AutomationFile; seen: null }
  | { action: 'update' | 'recreate' | 'keep'; file: AutomationFile; seen: Automation }
  | { action: 'delete'; file: null; seen: Automation }
);

const OWN = 'acs/';
const TEMPLATE_ID_MAX = 100;

/** The members that PATCH takes. */
const CHANGEABLE = new Set(
  (
    'name prompt trigger model timeout keep_alive enabled agent_profile_id tarball_path ' +
    'setup_script_path entrypoint'
  ).split(' '),
);

/** A file without them has none; the server returns no variants. */
const FIXED = ['repos', 'plugins', 'variants', 'experiment_id'];

const TRIGGER_DEFAULTS: Json = {
  timezone: 'UTC',
  filter: null,
  destination: 'dispatch_run',
  subject_key_expr: null,
  turn_text_expr: null,
  wake_agent: true,
};

export function isAppliedByAcs({ template }: Automation): boolean {
  return template?.id.startsWith(OWN) === true;
}

/** A file is the request that creates an automation; what it has says which one. */
export function readDraft(value: unknown): AutomationDraft | null {
  if (!isRecord(value)) return null;
  const body = withoutNull(value);
  const hasOne = (...names: string[]): boolean => names.some((name) => name in body);
  if (hasOne('tarball_path', 'entrypoint')) return { kind: 'plain', body };
  return { kind: hasOne('plugins', 'variants') ? 'plugin' : 'prompt', body };
}

/**
 * What `readDraft` reads, in the order in which it is read best. Throws `unsupported` where the
 * server does not return all of it.
 */
export function fileOf({ name, kind, definition }: Automation): Json {
  if (kind === 'plugin' && definition['plugins'] === undefined)
    throw new AppError('unsupported', `the server does not return the variants of ${name}`);
  const first = Object.fromEntries(
    ['name', 'enabled', 'trigger', 'prompt'].map((member) => [member, definition[member]]),
  );
  return withoutNulls({ ...first, ...definition });
}

function withoutNulls(record: Json): Json {
  return Object.fromEntries(
    Object.entries(withoutNull(record)).map(([name, value]) => [
      name,
      isRecord(value) ? withoutNulls(value) : value,
    ]),
  );
}

/**
 * The draft with the mark by which apply finds what it has created, and the server an automation
 * that exists. The version is that of the members that cannot be changed.
 */
export function markedDraft({ name, draft }: AutomationFile): AutomationDraft {
  const { kind, body } = draft;
  const template = { id: templateId(name), version: fixedDigest(draft) };
  // The plain form has no such member.
  const { enabled: _, ...plain } = body;
  return { kind, body: { ...(kind === 'plain' ? plain : body), template } };
}

/** The draft that creates it again: what the file lacks stays as it was, as with a PATCH. */
export function recreatedDraft(file: AutomationFile, { kind, definition }: Automation) {
  const { kind: wanted, body } = file.draft;
  // The members of a plain automation and of the others differ.
  if ((kind === 'plain') !== (wanted === 'plain')) return markedDraft(file);
  const kept = Object.entries(definition).filter(
    ([field, value]) => !isFixed(field) && value !== null,
  );
  return markedDraft({
    ...file,
    draft: { kind: wanted, body: { ...Object.fromEntries(kept), ...body } },
  });
}

function templateId(name: string): string {
  const id = `${OWN}${name}`;
  return id.length <= TEMPLATE_ID_MAX ? id : `${OWN}${digest(name)}`;
}

/** Throws `conflict` where several automations of a name are none that apply has created. */
export function planOf(
  files: readonly AutomationFile[],
  automations: readonly Automation[],
  unlisted: 'keep' | 'delete',
): Step[] {
  const ids = new Set(files.map(({ name }) => templateId(name)));
  const steps = files.map((file): Step => {
    const seen = findFor(file, automations, ids);
    if (seen === null) return { action: 'create', file, seen, differences: [] };
    const { patch, fixed } = compare(file.draft, seen);
    const differences = [...fixed, ...patch];
    if (fixed.length > 0) return { action: 'recreate', file, seen, differences };
    return { action: patch.length > 0 ? 'update' : 'keep', file, seen, differences };
  });
  // One that was renamed on the server is found by the file of its new name.
  const kept = new Set(steps.map(({ seen }) => seen));
  const gone = (seen: Automation) => isAppliedByAcs(seen) && !kept.has(seen);
  if (unlisted === 'delete')
    for (const seen of automations.filter(gone))
      steps.push({ action: 'delete', file: null, seen, differences: [] });
  return steps;
}

function findFor(
  { file, name }: AutomationFile,
  all: readonly Automation[],
  templates: ReadonlySet<string>,
): Automation | null {
  const own = all.filter(({ template }) => template?.id === templateId(name));
  const isOfOther = ({ template }: Automation) => template !== null && templates.has(template.id);
  const named = all.filter((each) => each.name === name && !isOfOther(each));
  const candidates = own.length > 0 ? own : named;
  if (candidates.length <= 1) return candidates[0] ?? null;
  const ids = candidates.map(({ id }) => id);
  const text = `${file}: ${ids.length} automations have the name "${name}": ${ids.join(', ')}`;
  throw new AppError('conflict', text, {
    hint: 'rename or delete all except one: acs automation delete <id>',
    data: { candidates: ids },
  });
}

function compare({ kind, body }: AutomationDraft, seen: Automation) {
  const { definition, template } = seen;
  const patch = Object.entries(body).flatMap(([field, after]): Difference[] => {
    if (isFixed(field)) return [];
    const before = definition[field] ?? null;
    return isSame(withDefaults(field, before), withDefaults(field, after))
      ? []
      : [{ field, before, after }];
  });
  if (isAppliedByAcs(seen) && template?.version === fixedDigest({ kind, body }))
    return { patch, fixed: [] };
  const fields = [...new Set([...FIXED, ...fixedMembers(body)])];
  const fixed = fields.flatMap((field): Difference[] => {
    const [before, after] = [asSources(definition[field]), asSources(body[field])];
    return isSame(before, after) ? [] : [{ field, before, after }];
  });
  if (kind !== seen.kind) fixed.unshift({ field: 'kind', before: seen.kind, after: kind });
  return { patch, fixed };
}

/** The server takes it at the creation only. */
export function isFixed(field: string): boolean {
  return !CHANGEABLE.has(field);
}

function fixedMembers(body: Json): string[] {
  return Object.keys(body).filter(isFixed);
}

function fixedDigest({ kind, body }: AutomationDraft): string {
  return digest(
    canonical([
      kind,
      ...fixedMembers(body)
        .map((name) => [name, body[name]])
        .sort(),
    ]),
  );
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

function withDefaults(field: string, value: unknown): unknown {
  return field === 'trigger' && isRecord(value) ? { ...TRIGGER_DEFAULTS, ...value } : value;
}

/** The server stores a list of objects, and takes a single one and an address as well. */
function asSources(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return [{ url: value }];
  if (!Array.isArray(value)) return isRecord(value) ? [value] : value;
  const items = value.map((item: unknown) => (typeof item === 'string' ? { url: item } : item));
  return items.length === 0 ? null : items;
}

function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** JSON with members in the order of their names, without those that are null. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isRecord(member)
      ? Object.fromEntries(
          Object.entries(withoutNull(member)).sort(([one], [other]) => (one < other ? -1 : 1)),
        )
      : member,
  );
}
