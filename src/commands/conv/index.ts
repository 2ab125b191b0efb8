/** Conversations with agents: start, look, follow, answer, stop, take home, delete. */
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
    description: 'show a conversation and how its run stands',
    load: async () => (await import('./show.ts')).declareShow,
  },
  {
    usage: 'follow <id>',
    aliases: [],
    description: 'show a run as it happens, until it ends',
    load: async () => (await import('./follow.ts')).declareFollow,
  },
  {
    usage: 'events <id>',
    aliases: ['logs'],
    description: 'print what happened in a conversation',
    load: async () => (await import('./events.ts')).declareEvents,
  },
  {
    usage: 'wait <id...>',
    aliases: [],
    description: 'wait until runs have ended',
    load: async () => (await import('./wait.ts')).declareWait,
  },
  {
    usage: 'result <id>',
    aliases: [],
    description: "print the agent's final answer to the latest message",
    load: async () => (await import('./result.ts')).declareResult,
  },
  {
    usage: 'send <id> [message]',
    aliases: [],
    description: 'send a message to a conversation and let the agent go on',
    load: async () => (await import('./send.ts')).declareSend,
  },
  {
    usage: 'confirm <id>',
    aliases: [],
    description: 'show the action that an agent asks leave for, and accept or reject it',
    load: async () => (await import('./confirm.ts')).declareConfirm,
  },
  {
    usage: 'stop [id...]',
    aliases: [],
    description: 'stop runs; what was done stays, and a message goes on with it',
    load: async () => (await import('./stop.ts')).declareStop,
  },
  {
    usage: 'resume [id...]',
    aliases: [],
    description: 'wake conversations and go on with runs that have not ended',
    load: async () => (await import('./resume.ts')).declareResume,
  },
  {
    usage: 'diff <id>',
    aliases: [],
    description: 'print what changed in the workspace since the run started',
    load: async () => (await import('./diff.ts')).declareDiff,
  },
  {
    usage: 'rename <id> <title>',
    aliases: [],
    description: 'give a conversation another title',
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
    .description('conversations: an agent at work on a repository');
  await declareEntries(command, ctx, words, VERBS);
}
