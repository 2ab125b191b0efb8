import { chmodSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';

/** Removes a folder with everything in it. Nothing may work in it any more; links are not followed. */
export async function removeTree(folder: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  try {
    await rm(folder, options);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    makeWritable(folder);
    await rm(folder, options);
  }
}

function makeWritable(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) makeWritable(path.join(folder, entry.name));
  }
}
