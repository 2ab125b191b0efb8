import { isModelProfileName } from '../../../domain/model-profile.ts';
import { AppError } from '../../../errors.ts';

/** Throws `usage` for what servers refuse. */
export function checkModelProfileName(name: string): void {
  if (isModelProfileName(name)) return;
  throw new AppError('usage', `"${name.slice(0, 80)}" is no name for a model profile`, {
    hint: 'up to 64 letters, digits, dots, dashes and underscores',
  });
}
