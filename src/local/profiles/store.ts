/** The only importer of conf, which is loaded on the first write: it takes 67 ms. */
import { chmod, lstat, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError, isAppError, fileProblem } from '../../base/errors.ts';
import { makeFolder } from '../../base/make-folder.ts';
import {
  checkNewProfileName,
  isProfileName,
  LOCAL_PROFILE,
  normalizeServerUrl,
  type Profile,
} from './resolve.ts';
import { cut } from '../../base/text/well-formed.ts';

type StoredProfile = Omit<Profile, 'name'>;

/** Members that a newer acs has written are kept. */
interface ProfileDocument {
  default: string | null;
  profiles: Record<string, StoredProfile>;
  [member: string]: unknown;
}

const LOCK_WAIT_MS = 20_000;
const OWN_FILES = /^(profiles\.json.*|cache)$/;

/** All throw `config` for a corrupt file, which is never overwritten. */
export class ProfileStore {
  readonly path: string;
  private readonly configDir: string;
  private readonly notice: ((text: string) => Promise<void>) | null;
  private closing: Promise<void> | null = null;

  /** `notice`: of a store that others may read; null where files have no mode. */
  constructor(configDir: string, notice: ProfileStore['notice']) {
    this.path = path.join(configDir, 'profiles.json');
    this.configDir = configDir;
    this.notice = notice;
  }

  async list(): Promise<Profile[]> {
    const { profiles } = await this.read();
    return Object.entries(profiles).map(([name, profile]) => ({ ...profile, name }));
  }

  async get(name: string): Promise<Profile | null> {
    return (await this.list()).find((profile) => profile.name === name) ?? null;
  }

  async defaultName(): Promise<string | null> {
    return (await this.read()).default;
  }

  /** Throws `usage`. */
  draft(name: string, baseUrl: string): { name: string; base_url: string } {
    checkNewProfileName(name);
    return { name, base_url: normalizeServerUrl(baseUrl, '--base-url', 'usage') };
  }

  /** Adds or replaces. The first profile becomes the default. */
  put({ name, ...profile }: Profile): Promise<void> {
    return this.change((document) => {
      if (Object.keys(document.profiles).length === 0) document.default ??= name;
      document.profiles[name] = profile;
    });
  }

  /** The default follows. Throws `usage`, `not-found` and `conflict`. */
  rename(from: string, to: string): Promise<void> {
    return this.change((document) => {
      refuseUnknown(document, from);
      checkNewProfileName(to);
      if (from !== to && Object.hasOwn(document.profiles, to)) {
        throw new AppError('conflict', `profile "${to}" exists already`, {
          hint: 'choose another name',
        });
      }
      const renamed = Object.entries(document.profiles).map(([name, profile]) => [
        name === from ? to : name,
        profile,
      ]);
      document.profiles = Object.fromEntries(renamed) as ProfileDocument['profiles'];
      if (document.default === from) document.default = to;
    });
  }

  /** Removing the default leaves none. Throws `not-found`. */
  remove(name: string): Promise<void> {
    return this.change((document) => {
      refuseUnknown(document, name);
      delete document.profiles[name];
      if (document.default === name) document.default = null;
    });
  }

  /** A stored name or `local`. Throws `not-found`. */
  setDefault(name: string): Promise<void> {
    return this.change((document) => {
      if (name !== LOCAL_PROFILE) refuseUnknown(document, name);
      document.default = name;
    });
  }

  private async read(): Promise<ProfileDocument> {
    if (this.notice !== null) await (this.closing ??= closeToOthers(this.path, this.notice));
    return await readDocument(this.path);
  }

  private async change(edit: (document: ProfileDocument) => void): Promise<void> {
    try {
      await changeDocument(this.configDir, this.path, edit);
    } catch (error) {
      if (isAppError(error)) throw error;
      const message = `cannot write the profile store ${this.path}: ${fileProblem(error).reason}`;
      throw new AppError('config', message, {
        hint: 'make its directory writable, or set ACS_CONFIG_DIR to another one',
        cause: error,
      });
    }
  }
}

/** Reads again under the lock: the changes of two processes at once are both stored. */
async function changeDocument(
  configDir: string,
  file: string,
  edit: (document: ProfileDocument) => void,
): Promise<void> {
  makeFolder(configDir, 0o700);
  // A directory with other files, such as /tmp, keeps its mode.
  const isOpen =
    ((await stat(configDir)).mode & 0o077) !== 0 && !(await lstat(configDir)).isSymbolicLink();
  if (isOpen && (await readdir(configDir)).every((name) => OWN_FILES.test(name)))
    await chmod(configDir, 0o700);
  const { waitForLock } = await import('../files/lock.ts');
  const held = await waitForLock(file, LOCK_WAIT_MS);
  try {
    const document = await readDocument(file);
    edit(document);
    const { default: Conf } = await import('conf');
    const conf = new Conf<ProfileDocument>({
      cwd: configDir,
      configName: 'profiles',
      accessPropertiesByDotNotation: false,
    });
    conf.store = document;
  } finally {
    held.release();
  }
}

function refuseUnknown({ profiles }: ProfileDocument, name: string): void {
  if (Object.hasOwn(profiles, name)) return;
  throw new AppError('not-found', `no profile ${JSON.stringify(name)}`, {
    hint: 'list the profiles: acs profile list',
  });
}

/** Empty without a file. Throws `config` with the path; the message never repeats content. */
async function readDocument(file: string): Promise<ProfileDocument> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { default: null, profiles: {} };
    throw new AppError(
      'config',
      `cannot read the profile store ${file}: ${code ?? 'unknown error'}`,
      {
        hint: 'make the file readable, or set ACS_CONFIG_DIR to another directory',
        cause: error,
      },
    );
  }
  const corrupt = (why: string) =>
    new AppError('config', `the profile store ${file} cannot be used: ${why}`, {
      hint: 'repair the file, or move it away and sign in again; acs has not changed it',
    });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw corrupt(text.trim() === '' ? 'it is empty' : 'it is not valid JSON');
  }
  const problem = problemOfDocument(document);
  if (problem !== null) throw corrupt(problem);
  return { default: null, profiles: {}, ...(document as Partial<ProfileDocument>) };
}

function problemOfDocument(document: unknown): string | null {
  if (!isObject(document)) return 'it is not a JSON object';
  const { profiles = {}, default: name = null } = document;
  if (!isObject(profiles)) return '"profiles" is not an object';
  for (const [name, profile] of Object.entries(profiles)) {
    const problem = isProfileName(name) ? problemOf(profile) : 'its name is not allowed';
    if (problem !== null) return `profile ${JSON.stringify(cut(name, 80))}: ${problem}`;
  }
  if (name === null || name === LOCAL_PROFILE) return null;
  if (typeof name !== 'string') return '"default" is not a string';
  return Object.hasOwn(profiles, name) ? null : '"default" names a profile that does not exist';
}

function problemOf(profile: unknown): string | null {
  if (!isObject(profile)) return 'it is not an object';
  const { base_url: url } = profile;
  if (typeof url !== 'string' || !URL.canParse(url)) return '"base_url" is not a URL';
  for (const member of ['key', 'key_command', 'created_at']) {
    if (profile[member] !== undefined && typeof profile[member] !== 'string')
      return `"${member}" is not a string`;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function closeToOthers(file: string, notice: (text: string) => Promise<void>): Promise<void> {
  const found = await stat(file).catch(() => null); // readDocument reports what is wrong with it
  if (found === null || (found.mode & 0o077) === 0) return;
  const was =
    `other users had access to the profile store ${file} (mode ` +
    `${(found.mode & 0o777).toString(8)})`;
  try {
    await chmod(file, 0o600);
  } catch (error) {
    return await notice(
      `warning: ${was}, and it cannot be set to 0600: ${fileProblem(error).reason}`,
    );
  }
  await notice(`${was}; its mode is now 0600; renew its keys if others use this machine`);
}
