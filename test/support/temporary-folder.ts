import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import type { Profile } from '../../src/local/profiles/resolve.ts';

/** A new folder for each test of the file that calls this at its top; removed after the test. */
export function folderOfEachTest(): { readonly path: string } {
  const folder = { path: '' };
  beforeEach(() => {
    folder.path = mkdtempSync(path.join(tmpdir(), 'acs-test-'));
  });
  afterEach(() => {
    rmSync(folder.path, { recursive: true, force: true, maxRetries: 3 });
  });
  return folder;
}

export interface ConfigDirs {
  /** The folder of all of them. */
  readonly base: string;
  /** The configuration directory of the test; it does not exist at its start. */
  readonly configDir: string;
  /** The profile store in it. */
  readonly file: string;
  /** Writes this text as the profile store. */
  corrupt(text: string): void;
}

/** A configuration directory of its own for each test of a file; all are removed after them. */
export function useConfigDirs(): ConfigDirs {
  const base = mkdtempSync(path.join(tmpdir(), 'acs-store-'));
  let count = 0;
  beforeEach(() => void (count += 1));
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const dirs: ConfigDirs = {
    base,
    get configDir() {
      return path.join(base, `home-${count}`, '.config', 'acs');
    },
    get file() {
      return path.join(dirs.configDir, 'profiles.json');
    },
    corrupt(text) {
      mkdirSync(dirs.configDir, { recursive: true });
      writeFileSync(dirs.file, text);
    },
  };
  return dirs;
}

/** The permission bits of a file, in octal. */
export const mode = (name: string): string => (statSync(name).mode & 0o777).toString(8);

export const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name,
  base_url: `https://${name}.example`,
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});
