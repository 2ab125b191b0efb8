/** The stored document: what the file holds, how it is read and checked. Reading does not load conf. */
import { readFile } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import { isProfileName, LOCAL_PROFILE } from './names.ts';

/** `members` of a newer acs are kept on write. */
export interface ProfileDocument {
  default: string | null;
  profiles: Record<string, StoredProfile>;
  [member: string]: unknown;
}

/** A profile as it is kept under its name. */
export interface StoredProfile {
  base_url: string;
  /** At most one of key and key_command. */
  key?: string;
  key_command?: string;
  created_at: string;
  defaults?: Record<string, string>;
}

/** No file, and no folder for it, is an empty document. Throws `config` with the path for anything unreadable. */
export async function readDocument(file: string): Promise<ProfileDocument> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { default: null, profiles: {} };
    throw new AppError('config', `cannot read the profile store ${file}: ${code ?? 'unknown error'}`, {
      hint: 'make the file readable, or set ACS_CONFIG_DIR to another directory',
      cause: error,
    });
  }
  return parseDocument(text, file);
}

/** Throws `config`; the message never repeats content, which may be a key. */
export function parseDocument(text: string, file: string): ProfileDocument {
  const document = parseJson(text, file);
  if (!isObject(document)) throw corrupt(file, 'it is not a JSON object');
  const { profiles = {}, default: defaultName = null } = document;
  if (!isObject(profiles)) throw corrupt(file, '"profiles" is not an object');
  if (defaultName !== null && typeof defaultName !== 'string') throw corrupt(file, '"default" is not a string');
  for (const [name, profile] of Object.entries(profiles)) {
    const problem = isProfileName(name) ? problemOf(profile) : 'its name is not allowed';
    if (problem !== null) throw corrupt(file, `profile ${JSON.stringify(name.slice(0, 80))}: ${problem}`);
  }
  if (defaultName !== null && defaultName !== LOCAL_PROFILE && !Object.hasOwn(profiles, defaultName)) {
    throw corrupt(file, '"default" names a profile that is not there');
  }
  return { ...document, default: defaultName, profiles: profiles as Record<string, StoredProfile> };
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes the text around the mistake.
    throw corrupt(file, text.trim() === '' ? 'it is empty' : 'it is not valid JSON');
  }
}

function problemOf(profile: unknown): string | null {
  if (!isObject(profile)) return 'it is not an object';
  if (typeof profile.base_url !== 'string' || !URL.canParse(profile.base_url)) return '"base_url" is not a URL';
  for (const member of ['key', 'key_command', 'created_at']) {
    if (profile[member] !== undefined && typeof profile[member] !== 'string') return `"${member}" is not a string`;
  }
  if (profile.defaults !== undefined && !isTextRecord(profile.defaults))
    return '"defaults" is not an object of strings';
  return null;
}

function corrupt(file: string, why: string): AppError {
  return new AppError('config', `the profile store ${file} cannot be used: ${why}`, {
    hint: 'repair the file, or move it away and add the profiles again; acs has not changed it',
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextRecord(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((member) => typeof member === 'string');
}
