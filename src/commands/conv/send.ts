import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { endOfDryRun } from '../bulk.ts';
import { explain } from '../declare.ts';
import { checkIdWord } from '../ids.ts';
import { collect } from '../options.ts';
import { readKnownRun, untilMessageShows } from './evidence.ts';
import { eventView } from './event-view.ts';
import { deadlineOf, showOutcome, showRun } from './follow.ts';
import { readImages } from './images.ts';
import { readMessage } from './message.ts';
import { findStarted } from './started.ts';
import { CONVERSATION_JSON, conversationView, OUTCOME_JSON, outcomeView } from './view.ts';
import { addWaitTimeout, endAs, type WaitOptions } from './waiting.ts';
import { isAsleep, wake } from './wake.ts';
import { watch } from './watch.ts';

export interface SendOptions extends WaitOptions {
  file?: string;
  image?: string[];
  resume?: boolean;
  wait?: boolean;
  follow?: boolean;
}

export function declareSend(parent: Command, ctx: Context): void {
  const command = parent.command('send').description('send a message to a conversation and let the agent go on');
  command
    .argument('<id>', 'the conversation')
    .argument('[message]', 'what to say; - reads it from stdin')
    .option('-F, --file <file|->', 'read the message from this file')
    .option('--image <file|url>', 'show the agent an image (repeatable)', collect)
    .option('--resume', 'wake the sandbox first when it is paused')
    .option('--wait', 'until the run that the message begins has ended')
    .option('-f, --follow', 'the same, and show it');
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'While a confirmation waits nothing is sent (8): servers carry the pending action out when a message comes.',
      'Without --wait the conversation is printed as it is right after the message was taken.',
    ],
    json: [`${CONVERSATION_JSON} plus "changed"`, `${OUTCOME_JSON}   with --wait or --follow`],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'unknown-outcome', 'timeout', 'interrupted'],
    examples: [
      { command: "acs conv send @last 'Now add a test for it' --wait", does: 'goes on with the last conversation' },
      {
        command: 'acs conv send @last --file review.md --resume --follow',
        does: 'wakes it, sends a file, shows the run',
      },
    ],
  });
  command.action((id: string, message: string | undefined, options: SendOptions) =>
    sendMessage(id, message, options, ctx),
  );
}

export async function sendMessage(
  word: string,
  argument: string | undefined,
  options: SendOptions,
  ctx: Context,
): Promise<void> {
  checkOutput(ctx, options);
  checkIdWord(word);
  const text = await readMessage(ctx, { argument, file: options.file });
  if (text === null)
    throw new AppError('usage', 'which message? give it as an argument, with --file, or as - on stdin');
  const limits = deadlineOf(ctx, options);
  const image_urls = await readImages(ctx, options.image ?? []);
  const server = await ctx.server();
  const conversation = await ready(ctx, server, await findStarted(ctx, server, word), options);
  const { last } = await readKnownRun(server, conversation.id);
  await server.conversations.send(conversation.id, { text, image_urls });
  if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  await ctx.notice(`sent to conversation ${conversation.id}`);
  if (options.wait || options.follow) await untilMessageShows(ctx, server, conversation.id, last);
  await conclude(ctx, server, conversation, { ...options, ...limits, since: last?.id });
}

function checkOutput(ctx: Context, { wait, follow }: SendOptions): void {
  if (follow) ctx.out.check(eventView(null), 'stream');
  else if (wait) ctx.out.check(outcomeView, 'item');
  else ctx.out.check(conversationView, 'item');
}

/** Whether the message would do what its sender means; wakes the sandbox where that is needed and wanted. */
async function ready(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { resume }: SendOptions,
): Promise<Conversation> {
  const { id } = conversation;
  refuseWaiting(conversation);
  if (conversation.status === 'archived' || conversation.sandbox_status === 'missing') {
    throw new AppError('conflict', `the sandbox of conversation ${id} is gone: it takes no more messages`, {
      hint: `its events stay readable: acs conv events ${id}`,
    });
  }
  if (!isAsleep(conversation)) return conversation;
  const awake = await wake(ctx, server, conversation, { resume, command: `acs conv send ${id} …` });
  // What it waited for shows only once it runs.
  refuseWaiting(awake);
  return awake;
}

function refuseWaiting({ id, status }: Conversation): void {
  if (status !== 'waiting') return;
  throw new AppError(
    'needs-input',
    `conversation ${id} waits for a confirmation: a message now would carry the pending action out`,
    {
      hint: `look at the action: acs conv events ${id} --tail 3`,
      data: { id, waiting_for: 'confirmation' },
    },
  );
}

type Ending = SendOptions & { deadlineMs: number; waitMs: number; since?: string };

async function conclude(ctx: Context, server: Server, conversation: Conversation, options: Ending): Promise<void> {
  const { id } = conversation;
  if (options.follow) {
    const watched = await showRun(ctx, server, conversation, options);
    await showOutcome(ctx, watched.outcome);
    return await endAs(ctx, watched);
  }
  if (!options.wait) {
    return await ctx.out.item(conversationView, await server.conversations.get(id), { changed: true });
  }
  const { evidence, last } = await readKnownRun(server, id);
  const progress = await ctx.progress(`conversation ${id}: running`);
  const watched = await watch(ctx, server, id, {
    evidence,
    since: last?.timestamp ?? null,
    deadlineMs: options.deadlineMs,
    waitMs: options.waitMs,
    failOnStallMs: null,
    onState: ({ status }) => progress.update(`conversation ${id}: ${status}`),
  }).finally(() => progress.done());
  await ctx.out.item(outcomeView, watched.outcome);
  await endAs(ctx, watched);
}
