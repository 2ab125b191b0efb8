import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

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
