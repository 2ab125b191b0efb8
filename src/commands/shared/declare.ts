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
  /** Kinds a script should expect besides those of every command (help exit-codes). */
  exits?: readonly ErrorKind[];
  /** All kinds, of a command to which the failure of a request is a result. */
  onlyExits?: readonly ErrorKind[];
  examples: readonly { command: string; does: string }[];
  /** For a program after `--`: any failure of acs except `interrupted` has this code. */
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
export function explanationOf(command: Command): CommandHelp | undefined {
  return EXPLANATIONS.get(command);
}

export const TOPICS = ['exit-codes', 'environment', 'output'] as const;

/** The command line, of which any word may name a command; `all` for the whole tree. */
export type Words = readonly string[] | 'all';

export interface Entry {
  usage: string;
  aliases?: string[];
  description: string;
  load(): Promise<(parent: Command, context: Context, words: Words) => void | Promise<void>>;
}

/** Loads the commands that are named; the help has the others by name and description. */
export async function declareEntries(
  parent: Command,
  context: Context,
  words: Words,
  entries: readonly Entry[],
): Promise<void> {
  for (const entry of entries) {
    const [name = ''] = entry.usage.split(' ');
    if (words === 'all' || [name, ...(entry.aliases ?? [])].some((each) => words.includes(each))) {
      const declare = await entry.load();
      await declare(parent, context, words);
    } else {
      const stub = parent.command(entry.usage).description(entry.description);
      for (const alias of (entry.aliases ?? []).filter((name) => !name.startsWith('_')))
        stub.alias(alias);
    }
  }
}

export function childNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((each) => each.name() === word || each.aliases().includes(word));
}
