import type { View } from '../../output/view.ts';
import type { Profile } from '../../profiles/store.ts';

/** The built-in profile; it cannot be stored, renamed or deleted. */
export const LOCAL = 'local';

/** A profile as it is shown; its key never is. */
export interface ProfileRecord {
  name: string;
  /** Null for `local`, whose port is not known beforehand. */
  base_url: string | null;
  default: boolean;
  /** Where its key is: `profile:<name>`, `command`, `local`; null when it has none of its own. */
  key_source: string | null;
  created_at: string | null;
}

export function profileRecord(profile: Profile, defaultName: string | null): ProfileRecord {
  const { name } = profile;
  return {
    name,
    base_url: profile.base_url,
    default: name === defaultName,
    key_source: keySource(profile),
    created_at: profile.created_at ?? null,
  };
}

export function localRecord(defaultName: string | null): ProfileRecord {
  return { name: LOCAL, base_url: null, default: defaultName === LOCAL, key_source: 'local', created_at: null };
}

function keySource({ name, key, key_command: command }: Profile): string | null {
  if (command !== undefined) return 'command';
  return key === undefined ? null : `profile:${name}`;
}

export const profileView: View<ProfileRecord> = {
  noun: 'profile',
  id: (it) => it.name,
  fields: [
    { name: 'name', get: (it) => it.name, weight: 0 },
    { name: 'base_url', get: (it) => it.base_url, weight: 3 },
    { name: 'default', get: (it) => it.default },
    { name: 'key_source', get: (it) => it.key_source },
    { name: 'created_at', get: (it) => it.created_at, as: 'time' },
  ],
  table: ['name', 'base_url', 'default', 'key_source'],
  tsv: ['name', 'base_url', 'default', 'key_source', 'created_at'],
};
