/**
 * The tree of commands. A command is listed here once it exists; help and completions follow from it. Only what the
 * command line names is loaded: the others stand in the help of the root by name and description.
 */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { declareEntries, nameOf, type Entry, type Words } from './entries.ts';

interface RootEntry extends Entry {
  group: string;
  /** `whole` for a command that, by its name and not an alias, needs all others. */
  needs?: 'whole';
}

const CONVERSATIONS = 'Conversations and sandboxes:';
const SERVER = 'On the server:';
const SETUP = 'Setup:';

const ENTRIES: readonly RootEntry[] = [
  {
    usage: 'conv',
    aliases: ['conversation'],
    description: 'start, follow, answer and delete conversations',
    group: CONVERSATIONS,
    load: async () => (await import('./conv/index.ts')).declareConversation,
  },
  {
    usage: 'sandbox',
    aliases: ['sb'],
    description: 'start, pause and delete sandboxes, and run programs in them',
    group: CONVERSATIONS,
    load: async () => (await import('./sandbox/index.ts')).declareSandbox,
  },
  {
    usage: 'specs',
    aliases: ['spec'],
    description: 'list the specs that sandboxes are created from',
    group: CONVERSATIONS,
    load: async () => (await import('./specs.ts')).declareSpecs,
  },
  {
    usage: 'batch',
    description: 'start many conversations from a file, and wait for them',
    group: CONVERSATIONS,
    load: async () => (await import('./conv/batch/index.ts')).declareBatch,
  },
  {
    usage: 'settings',
    aliases: ['setting'],
    description: 'read and change your settings on the server',
    group: SERVER,
    load: async () => (await import('./settings/index.ts')).declareSettings,
  },
  {
    usage: 'secret',
    aliases: ['secrets'],
    description: 'manage the secrets that sandboxes get as variables',
    group: SERVER,
    load: async () => (await import('./secret/index.ts')).declareSecret,
  },
  {
    usage: 'git-provider',
    aliases: ['git-providers'],
    description: 'manage the tokens of git providers on the server',
    group: SERVER,
    load: async () => (await import('./git-provider/index.ts')).declareGitProvider,
  },
  {
    usage: 'repo',
    aliases: ['repository'],
    description: 'list repositories, branches and suggested tasks',
    group: SERVER,
    load: async () => (await import('./repo/index.ts')).declareRepo,
  },
  {
    usage: 'api',
    description: 'send any request to the server',
    group: SERVER,
    load: async () => (await import('./api/index.ts')).declareApi,
  },
  {
    usage: 'login [name]',
    description: 'sign in to a server, and store its key',
    group: SETUP,
    load: async () => (await import('./profile/login.ts')).declareLogin,
  },
  {
    usage: 'logout [name]',
    description: 'remove the stored key of a profile',
    group: SETUP,
    load: async () => (await import('./profile/logout.ts')).declareLogout,
  },
  {
    usage: 'profile',
    description: 'store servers and their keys under names',
    group: SETUP,
    load: async () => (await import('./profile/index.ts')).declareProfile,
  },
  {
    usage: 'whoami',
    description: 'show the active server and the signed-in user',
    group: SETUP,
    load: async () => (await import('./whoami.ts')).declareWhoami,
  },
  {
    usage: 'doctor',
    description: 'check the configuration, the server and this machine',
    group: SETUP,
    load: async () => (await import('./doctor/index.ts')).declareDoctor,
  },
  {
    usage: 'serve',
    description: 'run the local service, a server on this machine',
    group: SETUP,
    load: async () => (await import('./serve.ts')).declareServe,
  },
  {
    usage: 'completion <shell>',
    aliases: ['__complete'],
    description: 'print a shell completion script',
    group: SETUP,
    load: async () => (await import('./completion/index.ts')).declareCompletion,
    needs: 'whole',
  },
  {
    usage: 'help [words...]',
    description: 'show help for a command or a topic',
    group: SETUP,
    // The words after it name what they want help for, so that is loaded; the rest stands there as it is.
    load: async () => (await import('./help/index.ts')).declareHelp,
  },
];

/** Declares the commands below the root. */
export async function declareCommands(root: Command, context: Context, words: Words): Promise<void> {
  const whole = words === 'all' || ENTRIES.some((entry) => entry.needs === 'whole' && words.includes(nameOf(entry)));
  await declareEntries(root, context, whole ? 'all' : words, ENTRIES);
}
