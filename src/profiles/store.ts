/**
 * Profiles: named servers with their keys, where they are kept, and which server and key a command uses. This file is
 * the store and the only importer of conf, which is loaded on the first write: reading through it would cost every
 * command 67 ms.
 */
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError, isAppError } from '../errors.ts';
import { makeFolder } from '../files/make-folder.ts';
import { readDocument, type ProfileDocument, type StoredProfile } from './document.ts';
import { withFileLock } from './lock.ts';
import { checkNewProfileName, LOCAL_PROFILE } from './names.ts';
import { normalizeServerUrl } from './url.ts';

export interface Profile extends StoredProfile {
  name: string;
}

/** The stored profiles. Reading throws `config` when the file is corrupt; it is never overwritten then. */
export interface ProfileStore {
  /** In the order they were added. */
  list(): Promise<Profile[]>;
  get(name: string): Promise<Profile | null>;
  /** Checks a new name and normalizes its URL, as `add` needs them. Throws `usage`. */
  draft(name: string, baseUrl: string): { name: string; base_url: string };
  /** The first one becomes the default. Throws `conflict` when the name is taken, unless it is to be replaced. */
  add(profile: Profile, taken?: 'refuse' | 'replace'): Promise<void>;
  /** The default follows. Throws `not-found` and `conflict`. */
  rename(from: string, to: string): Promise<void>;
  /** Removing the default leaves none. Throws `not-found`. */
  remove(name: string): Promise<void>;
  /** False when it has no stored key. Throws `not-found`. */
  removeKey(name: string): Promise<boolean>;
  defaultName(): Promise<string | null>;
  /** A stored name or `local`. Throws `not-found`. */
  setDefault(name: string): Promise<void>;
  readonly path: string;
}

/** Others than the owner may do nothing with the store: it holds keys. */
const FOR_OTHERS = 0o077;
const FILE_NAME = 'profiles';
const OWN_FILES = /^(profiles\.(json|lock).*|cache)$/;

/**
 * Opens the store of a directory; nothing is read or created yet.
 * @param options.configDir see configDirectory
 * @param options.notice takes a line for the user about a store that others may read, which is closed to them before
 *   the first reading; absent on systems whose files have no mode
 */
export function openProfileStore(options: {
  configDir: string;
  notice?: (text: string) => Promise<void>;
}): ProfileStore {
  const { configDir, notice } = options;
  const file = path.join(configDir, `${FILE_NAME}.json`);
  let closing: Promise<void> | null = null;
  const read = async () => {
    if (notice !== undefined) await (closing ??= closeToOthers(file, notice));
    return await readDocument(file);
  };
  const change = (edit: (document: ProfileDocument) => void) => changeDocument(configDir, file, edit);
  return {
    path: file,
    async list() {
      const { profiles } = await read();
      return Object.entries(profiles).map(([name, profile]) => ({ ...profile, name }));
    },
    async get(name) {
      const profile = own((await read()).profiles, name);
      return profile ? { ...profile, name } : null;
    },
    async defaultName() {
      return (await read()).default;
    },
    draft(name, baseUrl) {
      checkNewProfileName(name);
      return { name, base_url: normalizeServerUrl(baseUrl, '--base-url', 'usage') };
    },
    add: (profile, taken = 'refuse') => change((document) => addTo(document, profile, taken)),
    rename: (from, to) => change((document) => renameIn(document, from, to)),
    remove: (name) =>
      change((document) => {
        existing(document, name);
        delete document.profiles[name];
        if (document.default === name) document.default = null;
      }),
    async removeKey(name) {
      let had = false;
      await change((document) => {
        const profile = existing(document, name);
        had = profile.key !== undefined;
        delete profile.key;
      });
      return had;
    },
    setDefault: (name) =>
      change((document) => {
        if (name !== LOCAL_PROFILE) existing(document, name);
        document.default = name;
      }),
  };
}

function addTo(document: ProfileDocument, { name, ...rest }: Profile, taken: 'refuse' | 'replace'): void {
  const isFirst = Object.keys(document.profiles).length === 0;
  if (own(document.profiles, name) && taken === 'refuse') throw nameTaken(name);
  document.profiles[name] = rest;
  if (isFirst && document.default === null) document.default = name;
}

function renameIn(document: ProfileDocument, from: string, to: string): void {
  existing(document, from);
  checkNewProfileName(to);
  if (from !== to && own(document.profiles, to)) throw nameTaken(to);
  const renamed = Object.entries(document.profiles).map(
    ([name, profile]) => [name === from ? to : name, profile] as const,
  );
  document.profiles = Object.fromEntries(renamed);
  if (document.default === from) document.default = to;
}

function own(profiles: ProfileDocument['profiles'], name: string) {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

function existing(document: ProfileDocument, name: string): StoredProfile {
  const profile = own(document.profiles, name);
  if (profile) return profile;
  throw new AppError('not-found', `no profile ${JSON.stringify(name)}`, {
    hint: 'list the profiles: acs profile list',
  });
}

function nameTaken(name: string): AppError {
  return new AppError('conflict', `profile "${name}" exists already`, {
    hint: 'delete it first, or replace it with --replace',
  });
}

/** Reads again under the lock, so that two processes that add at once both arrive. */
async function changeDocument(dir: string, file: string, edit: (document: ProfileDocument) => void): Promise<void> {
  try {
    await prepareDirectory(dir);
    await withFileLock(path.join(dir, `${FILE_NAME}.lock`), async () => {
      const document = await readDocument(file);
      edit(document);
      const { default: Conf } = await import('conf');
      // Names may hold dots. An existing link is written through; the mode is that of the temporary file from its first byte.
      const conf = new Conf<ProfileDocument>({
        cwd: dir,
        configName: FILE_NAME,
        accessPropertiesByDotNotation: false,
        configFileMode: 0o600,
      });
      conf.store = document;
    });
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError('config', `cannot write the profile store ${file}: ${reason(error)}`, {
      hint: 'make its directory writable, or set ACS_CONFIG_DIR to another one',
      cause: error,
    });
  }
}

/** Sets a store that others may read or write to 0600. */
async function closeToOthers(file: string, notice: (text: string) => Promise<void>): Promise<void> {
  const found = await stat(file).catch(() => null); // readDocument reports what is wrong with it
  if (found === null || (found.mode & FOR_OTHERS) === 0) return;
  const was = `other users had access to the profile store ${file} (mode ${(found.mode & 0o777).toString(8)})`;
  try {
    await chmod(file, 0o600);
  } catch (error) {
    return await notice(`warning: ${was}, and it cannot be set to 0600: ${reason(error)}`);
  }
  await notice(`${was}; its mode is now 0600; renew its keys if others use this machine`);
}

/** An existing directory is closed to others only when nothing but our files is in it: it may be /tmp. */
async function prepareDirectory(dir: string): Promise<void> {
  makeFolder(dir, 0o700);
  const { mode } = await stat(dir);
  if ((mode & 0o077) === 0 || (await lstat(dir)).isSymbolicLink()) return;
  if ((await readdir(dir)).every((name) => OWN_FILES.test(name))) await chmod(dir, 0o700);
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'no space is left';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a part of its path is not a directory';
  return error instanceof Error ? error.message : String(error);
}
