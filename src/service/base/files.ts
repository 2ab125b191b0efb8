/** Files of users and workspaces, which may be missing, or not readable. */
import { type Dirent, readdirSync, realpathSync } from 'node:fs';

/** Null: nothing is there, or nothing that this user can read. */
export function realPath(file: string): string | null {
  try {
    return realpathSync.native(file);
  } catch {
    return null;
  }
}

/** None where the folder cannot be read. */
export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
