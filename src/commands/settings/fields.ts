/** Finding the field a name means, and what to say when there is none. */
import type { SettingsField } from '../../domain/settings.ts';
import { SETTINGS_FIELDS, V1_FIELDS } from '../../domain/settings-fields.ts';
import { V1_PATHS } from '../../domain/settings-merge.ts';
import { AppError } from '../../errors.ts';

/** The field of a flat name or a V1 path; `agent_settings.llm.model` is `llm_model`. */
export function findField(fields: readonly SettingsField[], name: string): SettingsField | null {
  const flat = Object.entries(V1_PATHS).find(([, path]) => path.join('.') === name)?.[0];
  return fields.find((field) => field.name === name || field.name === flat) ?? null;
}

/** Throws `unsupported` for a field of the other dialect, `usage` with suggestions for none at all. */
export function requireField(fields: readonly SettingsField[], name: string): SettingsField {
  const field = findField(fields, name);
  if (field) return field;
  refuseForeign(fields, name);
  throw new AppError('usage', `no setting "${name}"`, { hint: hintFor(fields, name) });
}

/** Throws `unsupported` for a name that only servers of the other dialect have. */
export function refuseForeign(fields: readonly SettingsField[], name: string): void {
  const speaksV1 = V1_FIELDS.every((own) => fields.some((field) => field.name === own.name));
  const isForeign = speaksV1 ? findField(SETTINGS_FIELDS, name) !== null : isOfV1(name);
  if (!isForeign) return;
  throw new AppError('unsupported', `this server has no setting ${name}; ${speaksV1 ? 'V0' : 'V1'} servers do`);
}

function isOfV1(name: string): boolean {
  return findField(V1_FIELDS, name) !== null || /^(?:agent|conversation)_settings\.\w/.test(name);
}

export function hintFor(fields: readonly SettingsField[], name: string): string {
  const near = nearest(
    name,
    fields.map((field) => field.name),
  );
  return near.length === 0 ? 'see: acs settings schema' : `did you mean ${near.join(', ')}? See: acs settings schema`;
}

const SUGGESTIONS_MAX = 3;

/** Names few edits away, or that hold the word. */
function nearest(word: string, names: readonly string[]): string[] {
  const wanted = word.slice(0, 100).toLowerCase();
  const far = Math.max(2, Math.floor(wanted.length / 4));
  return names
    .map((name) => ({ name, distance: name.includes(wanted) && wanted.length > 2 ? 1 : editDistance(wanted, name) }))
    .filter(({ distance }) => distance <= far)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ name }) => name);
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [at, other] of [...to].entries()) {
      const replaced = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
