import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import type { View } from '../../output/view.ts';

export type SettingsRecord = Record<string, JsonValue>;

/** A view with a field per setting. */
export function settingsView(names: readonly string[]): View<SettingsRecord> {
  return {
    noun: 'settings',
    id: () => '',
    fields: names.map((name) => ({ name, get: (record) => record[name] ?? null })),
    table: names,
    tsv: names,
  };
}

export const fieldView: View<SettingsField> = {
  noun: 'setting',
  id: (field) => field.name,
  fields: [
    { name: 'name', get: (field) => field.name, weight: 0 },
    { name: 'type', get: (field) => field.type, weight: 0 },
    { name: 'nullable', get: (field) => field.nullable },
    { name: 'secret', get: (field) => field.secret, weight: 0 },
    { name: 'default', get: (field) => field.default },
    { name: 'choices', get: (field) => field.choices, json: { list: true } },
    { name: 'minimum', get: (field) => field.minimum, as: 'number' },
    { name: 'maximum', get: (field) => field.maximum, as: 'number' },
    { name: 'description', get: (field) => field.description, weight: 2 },
  ],
  table: ['name', 'type', 'secret', 'default', 'description'],
  tsv: ['name', 'type', 'nullable', 'secret', 'default', 'choices', 'minimum', 'maximum', 'description'],
};
