import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach } from 'vitest';

/**
 * A folder of the file, `base`, and one in it for each test. `env` has no configuration of the
 * machine's user.
 */
export function useFolders() {
  const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-checkout-')));
  const env = {
    PATH: process.env.PATH,
    HOME: base,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  const folders = { base, env, dir: '' };
  beforeEach(() => {
    folders.dir = mkdtempSync(path.join(base, 'work-'));
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  return folders;
}
