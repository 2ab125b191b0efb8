/** The commands as a completion needs them: read off the real tree, so that nothing can be forgotten. */
import type { Command, Option } from 'commander';
import { TOPICS } from '../help-topics.ts';
import type { WithWords } from '../option-parsers.ts';

/** What `acs __complete` prints names of. */
export type NameKind = 'profiles' | 'conversations' | 'sandboxes' | 'specs' | 'settings' | 'model-profiles' | 'secrets';

/** What can stand in a place; `free` is a text that cannot be offered. */
export type Values =
  | { kind: 'choices'; words: readonly string[] }
  | { kind: 'names'; of: NameKind }
  /** `words` can stand instead of a file. */
  | { kind: 'files'; words: readonly string[] }
  | { kind: 'free' };

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
  /** Whether the arguments after the first are like it. */
  isVariadic: boolean;
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

/** The tree in which `help` is followed by the commands and topics that it explains. */
export function withHelp(root: CompletionCommand): CompletionCommand {
  const topics = TOPICS.map((name) => leaf(`${root.path} help ${name}`, name));
  const explained = root.commands.filter(({ names }) => !names.includes('help'));
  return {
    ...root,
    commands: root.commands.map((command) =>
      explained.includes(command)
        ? command
        : {
            ...command,
            argument: null,
            commands: [...explained.map((each) => nameOnly(each, command.path)), ...topics],
          },
    ),
  };
}

/** A command as the help takes it: a name, and the names below it. */
function nameOnly(command: CompletionCommand, parent: string): CompletionCommand {
  const [name = ''] = command.names;
  const path = `${parent} ${name}`;
  const commands = command.commands.map((each) => nameOnly(each, path));
  return { ...leaf(path, name), names: command.names, description: command.description, commands };
}

function leaf(path: string, name: string): CompletionCommand {
  return { path, names: [name], description: '', flags: [], commands: [], argument: null, isVariadic: false };
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
    isVariadic: command.registeredArguments[0]?.variadic === true || takesPaths(command),
  };
}

function describeFlag(option: Option): CompletionFlag {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const takesValue = option.required || option.optional;
  return { names, description: oneLine(option.description), value: takesValue ? valuesOf(option) : null };
}

const NAMES_OF_FLAGS: Readonly<Record<string, NameKind>> = {
  '--profile': 'profiles',
  '--sandbox': 'sandboxes',
  '--spec': 'specs',
  '--not-spec': 'specs',
};

const WORDS_BESIDE_FILES: Readonly<Record<string, readonly string[]>> = { '--replay': ['demo'] };

/**
 * The words that the flag's reader takes, or those of its own form: `--api <v0|v1|both>`. `<file|->` and `<path>` are
 * files; `<id>` and `<n>` are free.
 */
function valuesOf(option: Option): Values {
  const of = NAMES_OF_FLAGS[option.long ?? ''];
  if (of !== undefined) return { kind: 'names', of };
  const { words } = (option.parseArg ?? {}) as Partial<WithWords>;
  if (words !== undefined) return { kind: 'choices', words };
  const forms = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1]?.split('|') ?? [];
  if (!forms.some((form) => /^(file|path|dir|.*\.json)$/.test(form))) return { kind: 'free' };
  return { kind: 'files', words: WORDS_BESIDE_FILES[option.long ?? ''] ?? [] };
}

const NAMES_OF_ARGUMENTS: readonly (readonly [path: RegExp, argument: RegExp, of: NameKind])[] = [
  [/^acs conv /, /^id$/, 'conversations'],
  [/^acs sandbox /, /^id$/, 'sandboxes'],
  [/^acs specs /, /^id$/, 'specs'],
  [/^acs settings profile /, /^name$/, 'model-profiles'],
  [/^acs settings /, /^key/, 'settings'],
  [/^acs secret /, /^name$/, 'secrets'],
  [/^acs (profile (show|use|rename|delete)|login|logout)$/, /^name$/, 'profiles'],
];

function argumentOf(command: Command, path: string, children: Command[]): Values | null {
  const [first] = command.registeredArguments;
  if (children.length > 0 || first === undefined) return null;
  if (takesPaths(command)) return { kind: 'files', words: [] };
  if (path === 'acs completion') return { kind: 'choices', words: SHELLS };
  const named = NAMES_OF_ARGUMENTS.find(([at, name]) => at.test(path) && name.test(first.name()));
  return named === undefined ? { kind: 'free' } : { kind: 'names', of: named[2] };
}

/** Whether each argument is a path. */
function takesPaths(command: Command): boolean {
  return command.registeredArguments[0]?.name() === 'src';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
