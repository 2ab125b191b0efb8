/** The commands as a completion needs them: read off the real tree, so that nothing can be forgotten. */
import type { Command, Option } from 'commander';

export type Values = { kind: 'choices'; words: string[] } | { kind: 'profiles' } | { kind: 'any' };

export interface CompletionFlag {
  /** As typed: `-p`, `--profile`. */
  names: string[];
  description: string;
  /** Null for a flag without a value. */
  value: Values | null;
}

export interface CompletionCommand {
  /** With the names of its parents, never an alias: `acs conv list`. */
  path: string;
  /** Its name, then its aliases. */
  names: string[];
  description: string;
  flags: CompletionFlag[];
  commands: CompletionCommand[];
  /** Of the first argument; null when it takes none. */
  argument: Values | null;
}

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];

/** The tree below a root command; hidden commands and commander's own `help` of each group are left out. */
export function completionTree(root: Command): CompletionCommand {
  return describe(root, root.name());
}

/** A command and everything below it, parents first. */
export function flatten(command: CompletionCommand): CompletionCommand[] {
  return [command, ...command.commands.flatMap(flatten)];
}

function describe(command: Command, path: string): CompletionCommand {
  const help = command.createHelp();
  const isRoot = command.parent === null;
  const children = help.visibleCommands(command).filter((child) => isRoot || child.name() !== 'help');
  return {
    path,
    names: [command.name(), ...command.aliases()],
    description: oneLine(command.description()),
    flags: help.visibleOptions(command).map(describeFlag),
    commands: children.map((child) => describe(child, `${path} ${child.name()}`)),
    argument: argumentOf(command, path, children),
  };
}

function describeFlag(option: Option): CompletionFlag {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const takesValue = option.required || option.optional;
  return { names, description: oneLine(option.description), value: takesValue ? valuesOf(option) : null };
}

/** A flag names its choices in its own help: `--api <v0|v1|both>`; `<file|->` and `<path|url>` are kinds, not words. */
function valuesOf(option: Option): Values {
  if (option.long === '--profile') return { kind: 'profiles' };
  if (option.argChoices) return { kind: 'choices', words: [...option.argChoices] };
  const words = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1]?.split('|') ?? [];
  const isChoice =
    words.length > 1 &&
    words.every((word) => /^[a-z0-9]+$/.test(word) && !/^(file|path|url|dir|name|time|duration)$/.test(word));
  return isChoice ? { kind: 'choices', words } : { kind: 'any' };
}

function argumentOf(command: Command, path: string, children: Command[]): Values | null {
  if (children.length > 0 || command.registeredArguments.length === 0) return null;
  if (/^acs profile (show|use|rename|delete)$/.test(path)) return { kind: 'profiles' };
  if (path === 'acs completion') return { kind: 'choices', words: SHELLS };
  if (path === 'acs help') {
    const topics = ['exit-codes', 'environment', 'output'];
    return { kind: 'choices', words: [...(command.parent?.commands ?? []).map(nameOf).filter(isPublic), ...topics] };
  }
  return { kind: 'any' };
}

function nameOf(command: Command): string {
  return command.name();
}

function isPublic(name: string): boolean {
  return !name.startsWith('_') && name !== 'help';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
