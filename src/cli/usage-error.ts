import type { Command, CommanderError } from 'commander';
import { declareCommands } from '../commands/index.ts';
import type { Context } from '../commands/context.ts';
import { childNamed } from '../commands/shared/declare.ts';
import { AppError } from '../base/errors.ts';
import { isSecretName } from '../base/text/secret-names.ts';

/** Words of other command lines, after a noun or alone, and the command that does the same here. */
const SAME_HERE: Readonly<Record<string, string>> = {
  run: 'acs conv new',
  start: 'acs conv new',
  'sandbox create': 'acs sandbox start',
  apply: 'acs conv pull',
  attach: 'acs conv follow',
  tail: 'acs conv follow',
  status: 'acs conv show',
  'sandbox status': 'acs sandbox show',
  cost: 'acs conv show',
  ps: 'acs conv list',
  approve: 'acs conv confirm',
  accept: 'acs conv confirm --accept',
  reject: 'acs conv confirm --reject',
  interrupt: 'acs conv stop',
  cancel: 'acs conv stop',
  kill: 'acs conv stop',
  'sandbox kill': 'acs sandbox delete',
  'sandbox stop': 'acs sandbox pause',
  pause: 'acs sandbox pause',
  ssh: 'acs sandbox shell',
  auth: 'acs login',
  'profile add': 'acs login',
  'profile create': 'acs login',
  'secret add': 'acs secret set',
  'secret create': 'acs secret set',
  'settings reset': 'acs settings unset',
  'automation create': 'acs automation apply',
  config: 'acs settings',
  version: 'acs --version',
  '-v': '--version, or --debug',
};
const NOUNS_OF_VERBS = ['conv', 'sandbox'];

const INVALID_OPTION =
  /^option '(?<name>.+?)' argument '(?<value>[^]*)' is invalid\. It (?<rule>[^]*)$/;
const INVALID_ARGUMENT =
  /^command-argument value '(?<value>.*)' is invalid for argument '(?<name>.+)'\. It (?<rule>.*)$/s;

/**
 * Commander ends all of its errors with 1; here a wrong command line is 2.
 * @param path names of the commands that the line names
 */
export async function usageError(
  { message }: CommanderError,
  path: readonly string[],
  root: Command,
  ctx: Context,
): Promise<AppError> {
  const help = ['acs', ...path, '--help'].join(' ');
  const text = message.replace(/^error: /, '');
  const invalid = (INVALID_OPTION.exec(text) ?? INVALID_ARGUMENT.exec(text))?.groups;
  if (invalid !== undefined) {
    const { name = '', value, rule } = invalid;
    const flag = /--[\w-]+/.exec(name)?.[0] ?? name;
    return new AppError('usage', `invalid value '${value}' of ${flag}: it ${rule}`, {
      hint: `see: ${help}`,
    });
  }
  const [first = '', suggestion = ''] = text.split('\n');
  // An unknown option may hold a secret (`--api-key=…`): only its name is repeated.
  const [, option] = /^unknown option '(--[\w-]+|-\w)/.exec(first) ?? [];
  if (option !== undefined && isSecretName(option.replace(/^-+/, ''), 'argument'))
    return new AppError('usage', `unknown option '${option}'`, {
      hint: 'the key of a server is given with --api-key-file <path|->, or in ACS_API_KEY',
    });
  const [, command] = /^unknown command '([\w-]+)'/.exec(first) ?? [];
  const word = option ?? command ?? '';
  // `--no-wait` is similar to `--wait`, and its opposite.
  const nameOf = (flag: string): string => flag.replace(/^--(no-)?/, '');
  const similar = suggestion
    .replace(/^\(Did you mean (one of )?|\?\)$/g, '')
    .split(', ')
    .filter((each) => nameOf(each) !== nameOf(word));
  const guess =
    (await sameHere(word, path, root.createCommand(), ctx)) ??
    `${similar.length > 1 ? 'one of ' : ''}${similar.join(', ')}`;
  return new AppError('usage', option === undefined ? first : `unknown option '${option}'`, {
    hint: guess === '' ? `see: ${help}` : `did you mean ${guess}? See: ${help}`,
  });
}

/** Also for a verb without its noun, or with the other one. */
async function sameHere(
  word: string,
  [noun = '']: readonly string[],
  emptyRoot: Command,
  ctx: Context,
): Promise<string | undefined> {
  const own = `${noun} ${word}`;
  if (Object.hasOwn(SAME_HERE, own)) return SAME_HERE[own];
  if (word === '' || !['', ...NOUNS_OF_VERBS].includes(noun)) return undefined;
  if (Object.hasOwn(SAME_HERE, word)) return SAME_HERE[word];
  await declareCommands(emptyRoot, ctx, NOUNS_OF_VERBS);
  const verbs = NOUNS_OF_VERBS.flatMap((each) => {
    const verb = childNamed(childNamed(emptyRoot, each) ?? emptyRoot, word);
    return verb === undefined ? [] : [`acs ${each} ${verb.name()}`];
  });
  return verbs[0];
}
