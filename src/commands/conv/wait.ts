import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, knownId, type Conversation } from '../../domain/conversation.ts';
import { judge, judgeFor, type Outcome } from '../../domain/outcome.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Progress } from '../../terminal/progress.ts';
import { readIds } from '../bulk.ts';
import { boundLooks, type BoundedLooks } from '../deadline.ts';
import { explain } from '../declare.ts';
import { checkIdWord, conversationFinder } from '../ids.ts';
import { collectList, duration, invalidValue, oneOf } from '../options.ts';
import { blankConversation } from './blank.ts';
import { readKnownRun, type KnownRun } from './evidence.ts';
import { deadlineOf, type Limits } from './follow.ts';
import { deadlinePassedUnseen } from './unended.ts';
import { idOf, OUTCOME_JSON, outcomeView } from './view.ts';
import { addWaitTimeout, endAs, failedStart, unbegun, untilStarted, type WaitOptions } from './waiting.ts';
import { watch, type Watched } from './watch.ts';

export interface WaitCommandOptions extends WaitOptions {
  any?: boolean;
  for?: string[];
  failOnStall?: number;
  onConfirm?: 'ask' | 'exit';
}

export function declareWait(parent: Command, ctx: Context): void {
  const command = parent.command('wait').description('wait until runs have ended');
  command
    .argument('<id...>', 'the conversations; - reads ids from stdin')
    .option('--any', 'until the first of them has ended')
    .option('--for <status,…>', 'until one of these states; ends at once when none of them can come any more', statuses)
    .option('--fail-on-stall <duration>', 'end with 124 when nothing happens for this long while it runs', duration)
    .option('--on-confirm <exit>', 'a waiting confirmation ends the wait with 8', oneOf('exit'));
  addWaitTimeout(command);
  explain(command, {
    notes: [
      "The exit code is the outcome's: finished 0, failed or stuck 1, waiting 8, paused 6, deleted 5.",
      'Of several the worst: a signal before 124, then 1, 5, 6, 8, and 0 when all have finished.',
      'Ctrl-C and a deadline end the wait, not the run.',
    ],
    json: [OUTCOME_JSON, `{"items":[${OUTCOME_JSON}],"has_more":false}   several ids`],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'timeout', 'interrupted'],
    examples: [
      {
        command: 'acs conv wait @last --wait-timeout 45m',
        does: 'waits for the last conversation, 45 minutes at most',
      },
      { command: 'acs conv list --status running -q | acs conv wait - --json', does: 'waits for all that run' },
    ],
  });
  command.action((ids: string[], options: WaitCommandOptions) => waitForConversations(ids, options, ctx));
}

export async function waitForConversations(
  given: readonly string[],
  options: WaitCommandOptions,
  ctx: Context,
): Promise<void> {
  const isOne = given.length === 1 && given[0] !== '-';
  ctx.out.check(outcomeView, isOne ? 'item' : 'list');
  const limits = deadlineOf(ctx, options);
  const words = await readIds(ctx, given);
  for (const word of words) checkIdWord(word);
  if (words.length === 0) {
    await ctx.out.list(outcomeView, [], { has_more: false });
    return;
  }
  const server = await ctx.server();
  const looks = await boundLooks(ctx, server, limits.deadlineMs);
  const finder = conversationFinder(ctx, looks.server);
  const wait = { options, limits, server, looks, seen: new Map<string, string>() };
  const first = new AbortController();
  const runs = words.map((word) => waitForOne(ctx, wait, word, () => finder.find(word), first.signal));
  const ended = options.any ? theFirst(runs, first).then((watched) => [watched]) : allOf(runs, first);
  const watched = await ended.finally(looks.clear);
  if (isOne && watched[0]) await ctx.out.item(outcomeView, watched[0].outcome);
  else
    await ctx.out.list(
      outcomeView,
      watched.map(({ outcome }) => outcome),
      { has_more: false },
    );
  await endAs(ctx, worst(watched));
}

interface Wait {
  options: WaitCommandOptions;
  limits: Limits;
  server: Server;
  /** For what is read before the watch, which keeps the deadline itself. */
  looks: BoundedLooks;
  /** Last state told, by conversation. */
  seen: Map<string, string>;
}

async function waitForOne(
  ctx: Context,
  wait: Wait,
  word: string,
  find: () => Promise<Conversation>,
  first: AbortSignal,
): Promise<Watched> {
  const { limits, options, looks } = wait;
  const judging = options.for ? forStates(options.for) : judge;
  let seen = blankConversation(word, 'unknown(not-read)');
  try {
    seen = await find();
    seen = await untilStarted(ctx, looks.server, seen, limits);
    if (seen.id === '') return failedStart(seen);
    seen = await looks.server.conversations.getSettled(seen.id);
    const known = await readKnownRun(looks.server, seen.id);
    const ended = judging(seen, known.evidence);
    if (ended !== null) return { outcome: ended, failure: null };
    return await watchOne(ctx, wait, { settled: seen, ...known, first, judging });
  } catch (error) {
    const conversation = { ...seen, id: knownId(seen) ?? idOf(seen) };
    const failure = looks.isOver(error) ? deadlinePassedUnseen(conversation, limits.waitMs) : error;
    // A run that has not begun, or cannot be read, is no reason to keep back what became of the others.
    if (isAppError(failure) && failure.kind === 'timeout') return unbegun(conversation, failure);
    throw failure;
  }
}

interface Seen extends KnownRun {
  settled: Conversation;
  first: AbortSignal;
  judging: typeof judge;
}

async function watchOne(ctx: Context, wait: Wait, { settled, evidence, last, first, judging }: Seen): Promise<Watched> {
  const { server, limits, options } = wait;
  if (settled.status === 'idle' && evidence.since_message === 'unknown') await tellIdle(ctx, settled.id);
  const progress = await ctx.progress(progressText(settled));
  try {
    return await watch(ctx, server, settled.id, {
      evidence,
      seen: settled,
      since: last?.timestamp ?? null,
      ...limits,
      failOnStallMs: options.failOnStall ?? null,
      judge: judging,
      signal: first,
      onState: (state) => tellState(wait, state, progress),
    });
  } finally {
    await progress.done();
  }
}

/** Nothing runs and nothing was asked: without a message this wait lasts until its deadline. */
async function tellIdle(ctx: Context, id: string): Promise<void> {
  await ctx.notice(`conversation ${id} is idle and has had no message yet; give it one: acs conv send ${id} <message>`);
}

function tellState({ seen }: Wait, conversation: Conversation, progress: Progress): void {
  if (seen.get(conversation.id) === conversation.status) return;
  seen.set(conversation.id, conversation.status);
  progress.update(progressText(conversation));
}

function progressText({ id, status }: Conversation): string {
  return `conversation ${id}: ${status}`;
}

function forStates(wanted: readonly string[]): typeof judge {
  return (conversation, evidence): Outcome | null => judgeFor(conversation, evidence, wanted);
}

/** The first run that ended; the others are no longer watched. */
async function theFirst(runs: readonly Promise<Watched>[], first: AbortController): Promise<Watched> {
  try {
    return await Promise.race(runs);
  } finally {
    first.abort(needless());
    await Promise.allSettled(runs);
  }
}

/** One that cannot be watched ends the wait for all, once the others have been let go. */
async function allOf(runs: readonly Promise<Watched>[], first: AbortController): Promise<Watched[]> {
  try {
    return await Promise.all(runs);
  } catch (error) {
    first.abort(needless());
    await Promise.allSettled(runs);
    throw error;
  }
}

function needless(): AppError {
  return new AppError('interrupted', 'another run ended first', { exitCode: 0 });
}

const SEVERITY = [0, 8, 6, 5, 1, 124];

/** The worst code wins; a signal or a deadline beats every outcome. */
function worst(watched: readonly Watched[]): Watched {
  const ranked = watched.toSorted((one, other) => rank(other) - rank(one));
  const [top] = ranked;
  if (top === undefined) throw new AppError('internal', 'nothing was waited for');
  return top;
}

function rank({ outcome, failure }: Watched): number {
  if (failure !== null && isAppError(failure) && failure.kind === 'interrupted') return 1000;
  const known = SEVERITY.indexOf(outcome.exit_code);
  return known === -1 ? SEVERITY.length : known;
}

function statuses(value: string, previous: string[] | undefined): string[] {
  const words = collectList(value.toLowerCase(), undefined);
  const known: readonly string[] = CONVERSATION_STATUSES;
  if (words.some((word) => !known.includes(word))) throw invalidValue(`They must be among ${known.join(', ')}.`);
  return [...(previous ?? []), ...words];
}
