import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Removes a folder with everything in it. Nothing may work in it any more; links are not followed. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Folders without write permission, names that are not UTF-8, and paths longer than the system permits.
    const run = promisify(execFile);
    const options = { maxBuffer: Infinity };
    await run('chmod', ['-R', 'u+rwX', '--', folder], options).catch(() => undefined);
    await run('rm', ['-rf', '--', folder], options);
  }
}
