/**
 * The tree of commands. A command is listed here once it exists; help and completions follow from it. Only what the
 * command line names is loaded: the others stand in the help of the root by name and description.
 */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { declareEntries, nameOf, type Entry, type Words } from './entries.ts';

interface RootEntry extends Entry {
  /** `whole` for a command that, by its name and not an alias, looks at all others. */
  needs?: 'whole';
}

const ENTRIES: readonly RootEntry[] = [
  {
    usage: 'conv',
    aliases: ['conversation'],
    description: 'conversations: an agent at work on a repository',
    load: async () => (await import('./conv/index.ts')).declareConversation,
  },
  {
    usage: 'sandbox',
    aliases: ['sb'],
    description: 'the sandboxes that conversations run in',
    load: async () => (await import('./sandbox/index.ts')).declareSandbox,
  },
  {
    usage: 'specs',
    aliases: ['spec'],
    description: 'what sandboxes can be made from',
    load: async () => (await import('./specs/index.ts')).declareSpecs,
  },
  {
    usage: 'settings',
    aliases: ['setting'],
    description: 'your settings at the server',
    load: async () => (await import('./settings/index.ts')).declareSettings,
  },
  {
    usage: 'secret',
    aliases: ['secrets'],
    description: 'what your sandboxes get as environment variables',
    load: async () => (await import('./secret/index.ts')).declareSecret,
  },
  {
    usage: 'profile',
    aliases: [],
    description: 'name servers and keep their keys',
    load: async () => (await import('./profile/index.ts')).declareProfile,
  },
  {
    usage: 'whoami',
    aliases: [],
    description: 'show the active server, the signed-in user, and the source of URL and key',
    load: async () => (await import('./whoami.ts')).declareWhoami,
  },
  {
    usage: 'serve',
    aliases: [],
    description: 'run the local service: the whole server interface on this machine, without account or container',
    load: async () => (await import('./serve.ts')).declareServe,
  },
  {
    usage: 'completion <shell>',
    aliases: ['__complete'],
    description: 'print the completion script of a shell: bash, zsh, fish or powershell',
    load: async () => (await import('./completion/index.ts')).declareCompletion,
    needs: 'whole',
  },
  {
    usage: 'help [words...]',
    aliases: [],
    description: 'help for a command, or for a topic: exit-codes, environment, output',
    // The words after it name what they want help for, so that is loaded; the rest stands there as it is.
    load: async () => (await import('./help-topics.ts')).declareHelpTopics,
  },
];

/** Declares the commands below the root. */
export async function declareCommands(root: Command, context: Context, words: Words): Promise<void> {
  const whole = words === 'all' || ENTRIES.some((entry) => entry.needs === 'whole' && words.includes(nameOf(entry)));
  await declareEntries(root, context, whole ? 'all' : words, ENTRIES);
}
