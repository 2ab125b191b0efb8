import { AppError } from '../errors.ts';

/** The built-in profile of the local service: always there, never stored. */
export const LOCAL_PROFILE = 'local';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Throws `usage` when a profile may not be called that. Commas are what `--profile a,b` splits at; a leading dash would
 * read as a flag.
 */
export function checkNewProfileName(name: string): void {
  if (name === LOCAL_PROFILE) {
    throw new AppError('usage', '"local" is the built-in profile of the local service', {
      hint: 'choose another name',
    });
  }
  if (!NAME.test(name)) {
    throw new AppError('usage', `${JSON.stringify(name.slice(0, 80))} is not a valid profile name`, {
      hint: 'use 1 to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit',
    });
  }
}

/** Whether a name read from the store is one that could have been written there. */
export function isProfileName(name: string): boolean {
  return name !== LOCAL_PROFILE && NAME.test(name);
}
