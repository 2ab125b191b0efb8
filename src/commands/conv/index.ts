import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { declareEntries, type Entry, type Words } from '../shared/declare.ts';

const VERBS: readonly Entry[] = [
  ['new [message]', 'create', 'start a conversation', () => import('./new/index.ts')],
  ['list', 'ls', 'list conversations, newest first', () => import('./list.ts')],
  [
    'show <id...>',
    'view get',
    'show conversations and the status of their runs',
    () => import('./show.ts'),
  ],
  ['follow <id>', '', 'print the events of a run until it ends', () => import('./follow.ts')],
  ['events <id>', 'logs', 'print the events of a conversation', () => import('./events.ts')],
  ['wait <id...>', '', 'wait until runs end', () => import('./wait.ts')],
  [
    'result <id>',
    '',
    "print the agent's final answer to the latest message",
    () => import('./result.ts'),
  ],
  [
    'send <id> [message]',
    '',
    'send a message to a conversation and continue the run',
    () => import('./send.ts'),
  ],
  [
    'chat [id]',
    '',
    'follow a conversation and send messages from a prompt',
    () => import('./chat.ts'),
  ],
  [
    'confirm <id>',
    '',
    'show the action that awaits approval, and accept or reject it',
    () => import('./confirm.ts'),
  ],
  [
    'stop [id...]',
    '',
    'stop runs; files are kept, and `conv send` continues the run',
    () => import('./stop.ts'),
  ],
  [
    'resume [id...]',
    '',
    'start paused sandboxes and continue unfinished runs',
    () => import('./resume.ts'),
  ],
  [
    'diff <id> [other]',
    '',
    'print the changes in the workspace since the run started',
    () => import('./diff.ts'),
  ],
  [
    'export <id>',
    '',
    'write a conversation with its events and its diff to one file',
    () => import('./export.ts'),
  ],
  ['open <id>', '', 'open the page of a conversation in a browser', () => import('./open.ts')],
  [
    'pull <id>',
    '',
    'retrieve the changes into the checkout, a branch or a folder',
    () => import('./pull.ts'),
  ],
  ['rename <id> <title>', '', 'change the title of a conversation', () => import('./rename.ts')],
  ['delete [id...]', 'rm remove', 'delete conversations', () => import('./delete.ts')],
];

export function declare(command: Command, ctx: Context, words: Words): Promise<void> {
  return declareEntries(command, ctx, words, VERBS);
}
