import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import { readKnownRun } from '../../runs/run-reads.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { Chat, type ChatTarget } from './chat-session.ts';
import { conversations } from './conversations.ts';
import { addFilterOptions, readSince, type FilterOptions } from './event-filter.ts';
import { eventView } from './event-view.ts';
import { findForFollow, showOutcome } from './follow.ts';
import { beginConversation } from './new.ts';
import { addStartOptions, START_TIMEOUT_MS, type NewOptions } from './new-options.ts';
import { endAs, failedStart } from './waiting.ts';

export type ChatOptions = FilterOptions & Omit<NewOptions, 'startTimeout'> & { message?: string };

const FILTERS: ReadonlySet<string> = new Set(['kind', 'source', 'since', 'tail'] satisfies (keyof FilterOptions)[]);

export function declareChat(parent: Command, ctx: Context): void {
  const command = parent.command('chat').description('follow a conversation and send messages from a prompt');
  addFilterOptions(command.argument('[id]', 'the conversation; without it one is started as by `conv new`'));
  addStartOptions(command.option('-m, --message <text>', 'the task of a new conversation'));
  explain(command, {
    notes: [
      'Needs a terminal. Prints the events of the run as `conv follow` does, and shows a prompt when the run has ended or waits.',
      'Enter sends the message. Alt-Enter, Ctrl-J, or a backslash before Enter begins a new line; a paste of several lines is not sent before Enter. Up and Down recall what was typed in this chat.',
      'Commands at the prompt: /diff, /stop, /approve, /reject [reason], /quit, /help. /stop and /quit are also taken while a run is in progress; other text that is typed then is in the next prompt. A message that begins with // is sent with one slash.',
      'A pending action is answered in place: y, n, or a reason, which rejects it.',
      'Ctrl-C stops the run; pressed again it leaves (130). At an empty prompt Ctrl-C leaves too; /quit and Ctrl-D exit 0. The conversation remains.',
    ],
    json: ({ objectForm }) => [['one a line', objectForm(eventView(null))]],
    exits: ['failed', 'not-found', 'conflict', 'unknown-outcome', 'unsupported', 'timeout', 'interrupted'],
    examples: [
      { command: 'acs conv chat @last', does: 'continue the last conversation that was started' },
      { command: 'acs conv chat', does: 'ask for a task, start a conversation, and chat' },
      { command: 'acs conv chat @last --tail 20', does: 'print only the newest 20 events first' },
    ],
  });
  command.action((id: string | undefined, options: ChatOptions) => chat(id, options, ctx));
}

export async function chat(word: string | undefined, options: ChatOptions, ctx: Context): Promise<void> {
  ctx.out.check(eventView(null), 'stream');
  if (word !== undefined) checkExisting(word, options);
  readSince(ctx, options);
  if (!ctx.interactive) {
    throw new AppError('usage', 'conv chat needs a terminal on which questions may be asked', {
      hint: 'elsewhere send one message and follow the run: acs conv send <id> <message> --follow',
    });
  }
  if (ctx.globals.mode === 'dry-run') {
    throw new AppError('usage', '--dry-run has no effect on conv chat, which asks for what it sends', {
      hint: 'see the requests of one message: acs conv send <id> <message> --dry-run',
    });
  }
  const target = word === undefined ? await startNew(options, ctx) : await findExisting(word, options, ctx);
  if (target.conversation.id === '') {
    const tracked = failedStart(target.conversation);
    await showOutcome(ctx, tracked.outcome);
    return await endAs(ctx, tracked);
  }
  const first = word !== undefined && (await isWithoutRun(target)) ? 'prompt' : 'follow';
  const lines = await ctx.lineInput();
  try {
    await new Chat(ctx, lines, target).run(first);
  } finally {
    await lines.close();
  }
}

/** Throws `usage`. */
function checkExisting(word: string, options: ChatOptions): void {
  checkWord(conversations, word);
  const [name] = Object.keys(options).filter((option) => !FILTERS.has(option));
  if (name === undefined) return;
  const flag = name === 'R' ? '-R' : `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new AppError('usage', `${flag} is about a new conversation, and the id of one was given`);
}

async function startNew({ message, ...options }: ChatOptions, ctx: Context): Promise<ChatTarget> {
  if (options.file === '-') throw new AppError('usage', '--file - reads stdin, from which conv chat reads the keys');
  const given = { ...options, startTimeout: START_TIMEOUT_MS };
  const { server, conversation } = await beginConversation(message, given, ctx);
  return { server, conversation, options, message };
}

async function findExisting(word: string, options: ChatOptions, ctx: Context): Promise<ChatTarget> {
  const conversation = await findForFollow(ctx, limitsAfter(ctx, Number.POSITIVE_INFINITY), word);
  return { server: await ctx.server(), conversation, options };
}

/** A conversation that was never given a message: following would not end. */
async function isWithoutRun({ server, conversation }: ChatTarget): Promise<boolean> {
  if (conversation.status !== 'idle') return false;
  return (await readKnownRun(server, conversation.id)).evidence.since_message === 'unknown';
}
