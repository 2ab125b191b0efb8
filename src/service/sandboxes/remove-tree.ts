/** Removes folders of an agent: they often contain folders without write permission, such as caches of modules. */
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';

const OPTIONS = { recursive: true, force: true, maxRetries: 3 };

/** Removes a folder with everything in it. Nothing may work in it any more; links are not followed. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, OPTIONS);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    openUp(folder);
    await rm(folder, OPTIONS);
  }
}

/** The same, synchronously, before the service answers requests. */
export function removeTreeSync(folder: string): void {
  try {
    rmSync(folder, OPTIONS);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    openUp(folder);
    rmSync(folder, OPTIONS);
  }
}

function isRefusal(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Makes every folder writable for its owner. */
function openUp(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) openUp(path.join(folder, entry.name));
  }
}
