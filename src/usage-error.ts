/** What commander says of a wrong command line, in the words of acs. Loaded after such an error. */
import type { CommanderError } from 'commander';
import { AppError } from './errors.ts';
import { isSecretName } from './text/secret-names.ts';

/**
 * Commander ends all of its errors with 1; here a wrong command line is 2, with a suggestion and the help to read.
 * @param words the names of the command, from below the root
 */
export function usageError(error: CommanderError, words: readonly string[]): AppError {
  const said = error.message.replace(/^error: /, '');
  const [message = '', suggestion = ''] = invalidValue(said) ?? said.split('\n');
  const option = error.code === 'commander.unknownOption' ? unknownOption(message) : null;
  const guess = suggestion.replace(/[()]/g, '').trim().replace(/^D/, 'd');
  const see = `${guess === '' ? 'see' : 'See'}: acs ${[...words, '--help'].join(' ')}`;
  return new AppError('usage', option?.message ?? message, { hint: option?.hint ?? `${guess} ${see}`.trim() });
}

/** What commander says of a wrong value, of an option and of an argument. */
const INVALID_VALUE =
  /^(?:option '(.+?)' argument '([^]*)' is invalid|command-argument value '([^]*)' is invalid for argument '(.+?)')\. It ([^]*)$/;

/** The same words for both; null for another error. */
function invalidValue(said: string): [string] | null {
  const [, option, ofOption, ofArgument, argument, rule] = INVALID_VALUE.exec(said) ?? [];
  if (rule === undefined) return null;
  const name = option === undefined ? argument : (/--[\w-]+/.exec(option)?.[0] ?? option);
  return [`'${ofOption ?? ofArgument}' is not a value of ${name}: it ${rule}`];
}

/** An option that does not exist may hold a secret, such as `--api-key=…`: only its name is repeated. */
function unknownOption(said: string): { message: string; hint?: string } | null {
  const name = /^unknown option '(--[\w-]+|-\w)/.exec(said)?.[1];
  if (name === undefined) return null;
  const message = `unknown option '${name}'`;
  if (!isSecretName(name.replace(/^-+/, ''))) return { message };
  return { message, hint: 'the key of a server is given with --api-key-file <path|->, or in ACS_API_KEY' };
}
