/** The end of a command that has set a run going: show it, wait for it, or print the conversation as it is. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { Server } from '../../servers/server.ts';
import type { Limits } from '../deadline.ts';
import { answerer, type OnConfirmOptions } from './answering.ts';
import { eventView } from './event-view.ts';
import { readKnownRun } from './evidence.ts';
import { showOutcome, showRun } from './follow.ts';
import { conversationView, outcomeView } from './view.ts';
import { beforeWatch, endAs, type WaitOptions } from './waiting.ts';
import { watch } from './watch.ts';

export interface RunOptions extends WaitOptions, OnConfirmOptions {
  wait?: boolean;
  follow?: boolean;
}

export function checkRunOutput(ctx: Context, { wait, follow }: RunOptions): void {
  if (follow) ctx.out.check(eventView(null), 'stream');
  else if (wait) ctx.out.check(outcomeView, 'item');
  else ctx.out.check(conversationView, 'item');
}

export type Conclusion = RunOptions & Limits & { changed: boolean; since?: string };

/** `since` is the newest event before the run: only what comes after it is shown. */
export async function conclude(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: Conclusion,
): Promise<void> {
  const { id } = conversation;
  if (options.follow) {
    const watched = await showRun(ctx, server, conversation, options);
    await showOutcome(ctx, watched.outcome);
    return await endAs(ctx, watched);
  }
  if (!options.wait) {
    const { changed } = options;
    return await ctx.out.item(conversationView, await server.conversations.get(id), { changed });
  }
  const { evidence, last } = await beforeWatch(ctx, options, id, (_, bounded) => readKnownRun(bounded, id));
  const progress = await ctx.progress(`conversation ${id}: ${conversation.status}`);
  const watched = await watch(ctx, server, id, {
    evidence,
    seen: conversation,
    since: last?.timestamp ?? null,
    deadlineMs: options.deadlineMs,
    waitMs: options.waitMs,
    failOnStallMs: null,
    answer: answerer(ctx, server, id, { ...options, beforeAsking: () => progress.done() }),
    onState: ({ status }) => progress.update(`conversation ${id}: ${status}`),
  }).finally(() => progress.done());
  await ctx.out.item(outcomeView, watched.outcome);
  await endAs(ctx, watched);
}
