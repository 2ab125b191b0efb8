export interface Profile {
  name: string;
  base_url: string;
  /** At most one of key and key_command. */
  key?: string;
  key_command?: string;
  created_at: string;
  defaults?: Record<string, string>;
}

/** The stored profiles. Reading throws `config` when the file is corrupt; it is never overwritten then. */
export interface ProfileStore {
  list(): Promise<Profile[]>;
  get(name: string): Promise<Profile | null>;
  add(profile: Profile): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  defaultName(): Promise<string | null>;
  setDefault(name: string): Promise<void>;
  readonly path: string;
}
