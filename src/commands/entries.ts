/**
 * Commands that are loaded when the command line names them. The others stand in the help by name and description, and
 * there a command that was mistyped is looked for.
 */
import type { Command } from 'commander';
import type { Context } from '../context.ts';

/** The command line, of which any word may name a command; `all` for the whole tree. */
export type Words = readonly string[] | 'all';

type Declare = (parent: Command, context: Context, words: Words) => void | Promise<void>;

export interface Entry {
  /** As commander takes it: the name and its arguments. */
  usage: string;
  aliases?: string[];
  description: string;
  /** Heading in the help of the parent. */
  group?: string;
  load(): Promise<Declare>;
}

/** Declares the commands below a parent. */
export async function declareEntries(
  parent: Command,
  context: Context,
  words: Words,
  entries: readonly Entry[],
): Promise<void> {
  for (const entry of entries) {
    if (entry.group !== undefined) parent.commandsGroup(entry.group);
    if (words === 'all' || isNamed(entry, words)) {
      const declare = await entry.load();
      await declare(parent, context, words);
    } else {
      const stub = parent.command(entry.usage).description(entry.description);
      for (const alias of (entry.aliases ?? []).filter((name) => !name.startsWith('_'))) stub.alias(alias);
    }
  }
}

function isNamed(entry: Entry, words: readonly string[]): boolean {
  return [nameOf(entry), ...(entry.aliases ?? [])].some((name) => words.includes(name));
}

/** The command below a parent that a word names, by name or alias. */
export function childNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((each) => each.name() === word || each.aliases().includes(word));
}

export function nameOf({ usage }: Entry): string {
  return usage.split(' ')[0] ?? usage;
}
