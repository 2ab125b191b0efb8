import { lstatSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../base/make-folder.ts';
import { configDirectory, type UserFolders } from './config-directory.ts';

/**
 * The folder of compiled code, which acs executes. Null unless only the user `uid` can write there;
 * systems without user ids have no cache.
 */
export function compileCacheFolder(user: UserFolders & { uid: number | undefined }): string | null {
  const cache = path.join(configDirectory(user), 'cache');
  const folder = path.join(cache, 'compile');
  const isPrivate = (name: string) => {
    const { uid, mode } = lstatSync(name);
    return uid === user.uid && (mode & 0o077) === 0;
  };
  try {
    makeFolder(folder, 0o700);
    // Whoever may write to the folder above can replace this one.
    return isPrivate(cache) && isPrivate(folder) ? folder : null;
  } catch {
    return null;
  }
}
