/** The end of a command that has set a run going: show it, wait for it, or print the conversation as it is. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { beforeRun, isOfLatestRun } from '../../runs/outcome.ts';
import { readKnownRun } from '../../runs/run-reads.ts';
import { trackRun } from '../../runs/tracker.ts';
import type { Server } from '../../servers/server.ts';
import type { Limits } from '../../runs/deadline.ts';
import { answerer, type OnConfirmOptions } from './answering.ts';
import { eventView } from './event-view.ts';
import { showOutcome, showRun } from './follow.ts';
import { conversationView, outcomeView } from './view.ts';
import type { WaitOptions } from '../wait-limit.ts';
import { beforeWatch, endAs } from './waiting.ts';

export interface RunOptions extends WaitOptions, OnConfirmOptions {
  wait?: boolean;
  follow?: boolean;
}

export function checkRunOutput(ctx: Context, { wait, follow }: RunOptions): void {
  if (follow) ctx.out.check(eventView(null), 'stream');
  else if (wait) ctx.out.check(outcomeView, 'item');
  else ctx.out.check(conversationView, 'item');
}

export interface Conclusion extends RunOptions, Limits {
  changed: boolean;
  /**
   * Set by a command that has started a run: the newest event before it, null where there was none. Only what comes
   * after that event is shown and counts for the outcome.
   */
  startedAfter?: ConversationEvent | null;
}

export async function conclude(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: Conclusion,
): Promise<void> {
  const { id } = conversation;
  const { startedAfter } = options;
  if (options.follow) {
    const since = startedAfter ? { since: startedAfter.id } : {};
    const tracked = await showRun(ctx, server, conversation, { ...options, ...since });
    await showOutcome(ctx, tracked.outcome);
    return await endAs(ctx, tracked);
  }
  if (!options.wait) {
    const { changed } = options;
    return await ctx.out.item(conversationView, await server.conversations.get(id), { changed });
  }
  const { evidence, last } =
    startedAfter === undefined
      ? await beforeWatch(ctx, options, id, (_, bounded) => readKnownRun(bounded, id))
      : { evidence: beforeRun(startedAfter?.id ?? null), last: startedAfter };
  const isKnown = isOfLatestRun(conversation, evidence);
  const progress = await ctx.progress(`conversation ${id}: ${isKnown ? conversation.status : 'the run is requested'}`);
  const tracked = await trackRun(ctx, server, id, {
    evidence,
    seen: conversation,
    since: last?.timestamp ?? null,
    ...(startedAfter === undefined ? {} : { startedAfter }),
    deadlineMs: options.deadlineMs,
    waitMs: options.waitMs,
    failOnStallMs: null,
    answer: answerer(ctx, server, id, { ...options, progress }),
    onState: ({ status }, run) => {
      if (run === 'latest') progress.update(`conversation ${id}: ${status}`);
    },
  }).finally(() => progress.done());
  await ctx.out.item(outcomeView, tracked.outcome);
  await endAs(ctx, tracked);
}
