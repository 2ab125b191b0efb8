import type { Command } from 'commander';
import type { Context } from './context.ts';
import { declareEntries, type Entry, type Words } from './shared/declare.ts';

const GROUPS: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  [
    'Conversations and sandboxes:',
    [
      [
        'conv',
        'conversation',
        'start, follow, answer and delete conversations',
        () => import('./conv/index.ts'),
      ],
      [
        'sandbox',
        'sb',
        'start, pause and delete sandboxes, and run programs in them',
        () => import('./sandbox/index.ts'),
      ],
      [
        'specs',
        'spec',
        'list the specs that sandboxes are created from',
        () => import('./shared/specs.ts'),
      ],
      [
        'batch <tasks.jsonl|->',
        '',
        'start many conversations from a file, and wait for them',
        () => import('./conv/batch/index.ts'),
      ],
    ],
  ],
  [
    'On the server:',
    [
      [
        'settings',
        'setting',
        'read and change your settings on the server',
        () => import('./settings/index.ts'),
      ],
      [
        'model',
        'models',
        'list the models that a conversation can use',
        () => import('./model.ts'),
      ],
      [
        'secret',
        'secrets',
        'manage the secrets that sandboxes get as variables',
        () => import('./secret.ts'),
      ],
      [
        'git-provider',
        'git-providers',
        'manage the tokens of git providers on the server',
        () => import('./git-provider.ts'),
      ],
      ['repo', 'repository', 'list repositories and branches', () => import('./repo.ts')],
      [
        'automation',
        'automations',
        'manage runs that a schedule or an event starts',
        () => import('./automation/index.ts'),
      ],
      ['api <METHOD> <path>', '', 'send any request to the server', () => import('./api.ts')],
    ],
  ],
  [
    'Setup:',
    [
      [
        'login [name]',
        '',
        'sign in to a server, and store its URL and key as a profile',
        async () => ({ declare: (await import('./login.ts')).declareLogin }),
      ],
      [
        'logout [name]',
        '',
        'remove the stored key of a profile',
        async () => ({ declare: (await import('./login.ts')).declareLogout }),
      ],
      [
        'profile',
        '',
        'list, select and delete stored servers and their keys',
        () => import('./profile.ts'),
      ],
      [
        'whoami',
        '',
        'show the active server, the signed-in user, and the source of URL and key',
        () => import('./whoami.ts'),
      ],
      [
        'doctor',
        '',
        'check the configuration, the server and this machine',
        () => import('./doctor/index.ts'),
      ],
      ['serve', '', 'run the local service, a server on this machine', () => import('./serve.ts')],
      [
        'completion <shell>',
        '__complete',
        'print a shell completion script',
        () => import('./completion.ts'),
      ],
      [
        // The words after `help` name the noun whose commands are loaded.
        'help [words...]',
        '',
        'show help for a command or a topic',
        () => import('./help/index.ts'),
      ],
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
