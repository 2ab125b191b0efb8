import type { Command } from 'commander';
import type { Context } from './context.ts';
import { declareEntries, type Entry, type Words } from './shared/declare.ts';

const GROUPS: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  [
    'Conversations and sandboxes:',
    [
      {
        usage: 'conv',
        aliases: ['conversation'],
        description: 'start, follow, answer and delete conversations',
        load: async () => (await import('./conv/index.ts')).declareConversation,
      },
      {
        usage: 'sandbox',
        aliases: ['sb'],
        description: 'start, pause and delete sandboxes, and run programs in them',
        load: async () => (await import('./sandbox/index.ts')).declareSandbox,
      },
      {
        usage: 'specs',
        aliases: ['spec'],
        description: 'list the specs that sandboxes are created from',
        load: async () => (await import('./shared/specs.ts')).declareSpecs,
      },
      {
        usage: 'batch <tasks.jsonl|->',
        description: 'start many conversations from a file, and wait for them',
        load: async () => (await import('./conv/batch/index.ts')).declareBatch,
      },
    ],
  ],
  [
    'On the server:',
    [
      {
        usage: 'settings',
        aliases: ['setting'],
        description: 'read and change your settings on the server',
        load: async () => (await import('./settings/index.ts')).declareSettings,
      },
      {
        usage: 'secret',
        aliases: ['secrets'],
        description: 'manage the secrets that sandboxes get as variables',
        load: async () => (await import('./secret.ts')).declareSecret,
      },
      {
        usage: 'git-provider',
        aliases: ['git-providers'],
        description: 'manage the tokens of git providers on the server',
        load: async () => (await import('./git-provider.ts')).declareGitProvider,
      },
      {
        usage: 'repo',
        aliases: ['repository'],
        description: 'list repositories and branches',
        load: async () => (await import('./repo.ts')).declareRepo,
      },
      {
        usage: 'api <METHOD> <path>',
        description: 'send any request to the server',
        load: async () => (await import('./api.ts')).declareApi,
      },
    ],
  ],
  [
    'Setup:',
    [
      {
        usage: 'login [name]',
        description: 'sign in to a server, and store its URL and key as a profile',
        load: async () => (await import('./login.ts')).declareLogin,
      },
      {
        usage: 'logout [name]',
        description: 'remove the stored key of a profile',
        load: async () => (await import('./login.ts')).declareLogout,
      },
      {
        usage: 'profile',
        description: 'list, select and delete stored servers and their keys',
        load: async () => (await import('./profile.ts')).declareProfile,
      },
      {
        usage: 'whoami',
        description: 'show the active server, the signed-in user, and the source of URL and key',
        load: async () => (await import('./whoami.ts')).declareWhoami,
      },
      {
        usage: 'doctor',
        description: 'check the configuration, the server and this machine',
        load: async () => (await import('./doctor/index.ts')).declareDoctor,
      },
      {
        usage: 'serve',
        description: 'run the local service, a server on this machine',
        load: async () => (await import('./serve.ts')).declareServe,
      },
      {
        usage: 'completion <shell>',
        aliases: ['__complete'],
        description: 'print a shell completion script',
        load: async () => (await import('./completion.ts')).declareCompletion,
      },
      {
        usage: 'help [words...]',
        description: 'show help for a command or a topic',
        // The words after `help` name the noun whose commands are loaded.
        load: async () => (await import('./help/index.ts')).declareHelp,
      },
    ],
  ],
];

export async function declareCommands(
  root: Command,
  context: Context,
  words: Words,
): Promise<void> {
  for (const [title, entries] of GROUPS) {
    root.commandsGroup(title);
    await declareEntries(root, context, words, entries);
  }
}
