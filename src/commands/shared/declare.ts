import type { Command } from 'commander';
import type { ErrorKind } from '../../base/errors.ts';
import type { RecordShape } from '../../output/view.ts';
import type { Context } from '../context.ts';

export type JsonForm = string | readonly [when: string, form: string];

export interface JsonForms {
  /** `<sandbox>`, and what the object has besides: `<sandbox> plus "changed"`. */
  objectForm(shape: RecordShape, ...members: readonly string[]): string;
  listForm(...shapes: readonly RecordShape[]): string;
  changeForms(shape: RecordShape, cases?: readonly [one: string, several: string]): JsonForm[];
}

export interface CommandHelp {
  json?: (forms: JsonForms) => readonly JsonForm[];
  /** What -o sets in the global options; a `target` is not where the data goes. */
  output?: 'target';
  /** The data has neither ids nor fields. */
  isRaw?: true;
  /** Kinds a script should expect besides those of every command (help exit-codes). */
  exits?: readonly ErrorKind[];
  /** All kinds, of a command to which the failure of a request is a result. */
  onlyExits?: readonly ErrorKind[];
  /** Command lines, with what each does. */
  examples: Readonly<Record<string, string>>;
  /** `program`: acs reads no flags after `--`; the option `program` has these arguments. */
  afterDashes?: 'program';
  /** The exit code of every failure of acs except `interrupted`. */
  failureCode?: number;
  /** Paragraphs, and lists of terms with their meaning; they have no line breaks of their own. */
  notes?: readonly (
    string | { title: string; items: readonly (readonly [term: string, meaning: string])[] }
  )[];
}

const EXPLANATIONS = new WeakMap<Command, CommandHelp>();

export function explain(command: Command, help: CommandHelp): Command {
  EXPLANATIONS.set(command, help);
  return command;
}

/** Undefined for a command that only groups others. */
export function explanationOf(command: Command | undefined): CommandHelp | undefined {
  return command && EXPLANATIONS.get(command);
}

// prettier-ignore
export const TOPICS = [
  'models', 'local-service', 'exit-codes', 'environment', 'output',
] as const;

/** The command line, of which any word may name a command; `all` for the whole tree. */
export type Words = readonly string[] | 'all';

export type Entry = readonly [
  usage: string,
  aliases: string,
  description: string,
  load: () => Promise<{
    declare(command: Command, ctx: Context, words: Words): void | Promise<void>;
  }>,
];

/** Loads the commands that are named; of the others the help has usage and description. */
export async function declareEntries(
  parent: Command,
  ctx: Context,
  words: Words,
  entries: readonly Entry[],
): Promise<void> {
  for (const [usage, aliases, description, load] of entries) {
    const [name = '', ...others] = `${usage.replace(/ .*/, '')} ${aliases}`.trim().split(' ');
    const isNamed = words === 'all' || [name, ...others].some((each) => words.includes(each));
    const command = parent
      .command(isNamed ? name : usage)
      .aliases(others.filter((alias) => !alias.startsWith('_')))
      .description(description);
    if (isNamed) await (await load()).declare(command, ctx, words);
  }
}

export function childNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((each) => each.name() === word || each.aliases().includes(word));
}
