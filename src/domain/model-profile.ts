import { AppError } from '../errors.ts';

/** Named model settings that a server keeps beside the current ones. */
export interface ModelProfile {
  name: string;
  model: string | null;
  base_url: string | null;
  api_key_set: boolean;
  /** Whether it was the last one that was made current; what was set since may differ from it. */
  active: boolean;
}

/** Model settings to keep under a name; null members are the server's defaults. */
export interface ModelChoice {
  model: string;
  base_url: string | null;
  /** Null: the key that the profile has already, if it has one. */
  api_key: string | null;
}

/** Throws `usage` for a name that servers refuse. */
export function checkModelProfileName(name: string): void {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name) && name !== '.' && name !== '..') return;
  throw new AppError('usage', `"${name.slice(0, 80)}" is not a valid name of a model profile`, {
    hint: 'up to 64 letters, digits, dots, dashes and underscores',
  });
}
