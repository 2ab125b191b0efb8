/** The noun `conv`: conversations with agents. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareEntries, type Entry, type Words } from '../entries.ts';

const VERBS: readonly Entry[] = [
  {
    usage: 'new [message]',
    aliases: ['create'],
    description: 'start a conversation',
    load: async () => (await import('./new.ts')).declareNew,
  },
  {
    usage: 'list',
    aliases: ['ls'],
    description: 'list conversations, newest first',
    load: async () => (await import('./list.ts')).declareList,
  },
  {
    usage: 'show <id>',
    aliases: ['view', 'get'],
    description: 'show a conversation and the status of its run',
    load: async () => (await import('./show.ts')).declareShow,
  },
  {
    usage: 'follow <id>',
    description: 'print the events of a run until it ends',
    load: async () => (await import('./follow.ts')).declareFollow,
  },
  {
    usage: 'events <id>',
    aliases: ['logs'],
    description: 'print the events of a conversation',
    load: async () => (await import('./events.ts')).declareEvents,
  },
  {
    usage: 'wait <id...>',
    description: 'wait until runs end',
    load: async () => (await import('./wait.ts')).declareWait,
  },
  {
    usage: 'result <id>',
    description: "print the agent's final answer to the latest message",
    load: async () => (await import('./result.ts')).declareResult,
  },
  {
    usage: 'send <id> [message]',
    description: 'send a message to a conversation and continue the run',
    load: async () => (await import('./send.ts')).declareSend,
  },
  {
    usage: 'chat [id]',
    description: 'follow a conversation and send messages from a prompt',
    load: async () => (await import('./chat.ts')).declareChat,
  },
  {
    usage: 'confirm <id>',
    description: 'show the action that awaits approval, and accept or reject it',
    load: async () => (await import('./confirm.ts')).declareConfirm,
  },
  {
    usage: 'stop [id...]',
    description: 'stop runs; files are kept, and `conv send` continues the run',
    load: async () => (await import('./stop.ts')).declareStop,
  },
  {
    usage: 'resume [id...]',
    description: 'start paused sandboxes and continue unfinished runs',
    load: async () => (await import('./resume.ts')).declareResume,
  },
  {
    usage: 'diff <id>',
    description: 'print the changes in the workspace since the run started',
    load: async () => (await import('./diff.ts')).declareDiff,
  },
  {
    usage: 'export <id>',
    description: 'write a conversation with its events and its diff to one file',
    load: async () => (await import('./export.ts')).declareExport,
  },
  {
    usage: 'open <id>',
    description: 'open the page of a conversation in a browser',
    load: async () => (await import('./open.ts')).declareOpen,
  },
  {
    usage: 'pull <id>',
    description: 'retrieve the changes into the checkout, a branch or a folder',
    load: async () => (await import('./pull.ts')).declarePull,
  },
  {
    usage: 'rename <id> <title>',
    description: 'change the title of a conversation',
    load: async () => (await import('./rename.ts')).declareRename,
  },
  {
    usage: 'delete [id...]',
    aliases: ['rm', 'remove'],
    description: 'delete conversations',
    load: async () => (await import('./delete.ts')).declareDelete,
  },
];

export async function declareConversation(root: Command, ctx: Context, words: Words): Promise<void> {
  const command = root
    .command('conv')
    .alias('conversation')
    .description('start, follow, answer and delete conversations');
  await declareEntries(command, ctx, words, VERBS);
}
