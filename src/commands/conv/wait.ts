import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isAppError, nullIf } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import {
  blankConversation,
  CONVERSATION_STATUSES,
  type Conversation,
} from '../../domain/conversation.ts';
import { errorRecord } from '../../output/render.ts';
import { valueOf, type RecordShape, type View } from '../../output/view.ts';
import { withinDeadline, type TimedContext } from '../shared/derived-context.ts';
import {
  deadlinePassedUnanswered,
  NOT_READ,
  NO_EVENTS,
  outcomeOf,
  worstCode,
  type TrackedRun,
} from '../../runs/outcome.ts';
import { endOfStatus } from '../../runs/status.ts';
import { trackRun } from '../../runs/tracker.ts';
import type { Progress } from '../../terminal/progress.ts';
import { explain } from '../shared/declare.ts';
import { someOf } from '../shared/option-parsers.ts';
import { findOne, finderOf, isSingle, readWords, type Finder } from '../shared/resource.ts';
import { addWaitTimeout, limitsOf, type WaitOptions, RUN_EXITS } from '../shared/wait-limit.ts';
import { conversations, outcomeView } from './conversations.ts';
import { endAs, endRun, printOutcomeItem } from './end-of-run.ts';
import { failedStart, waitForStart, withKnownId } from './find-conversation.ts';

interface WaitCommandOptions extends WaitOptions {
  any?: boolean;
  for?: string[];
}

/** `isUnread`: the conversation could not be found or read. */
type Waited = TrackedRun & { isUnread?: true };

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'the conversations; - reads ids from stdin')
    .option('--any', 'return when the first run has ended')
    .option(
      '--for <status,…>',
      'wait for one of these statuses; exit when the run ends without them',
      someOf(CONVERSATION_STATUSES),
    );
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'Exits with the code of the outcome: finished 0, failed or stuck 1, waiting 8, ' +
        'paused, stopped or archived 6, deleted 5.',
      'With several ids the worst code is used, in this order: a signal, 124, the code of ' +
        'another error, 1, 5, 6, 8; 0 when all have finished. An id that cannot be read does ' +
        'not end the wait for the others; with --any it is a warning.',
      'Ctrl-C and a deadline end the wait; the run continues.',
    ],
    json: ({ listForm, objectForm }) => [
      ['one id', objectForm(outcomeView)],
      ['several ids', listForm(outcomeView, unreadShape)],
    ],
    exits: RUN_EXITS,
    examples: {
      'acs conv wait @last --wait-timeout 45m': 'wait at most 45 minutes',
      'acs conv list --status running -q | acs conv wait - --json': 'wait for all running ones',
    },
  });
  command.action(async (given: string[], options: WaitCommandOptions) => {
    const single = isSingle(given);
    ctx.out.check(outcomeView, single ? 'item' : 'list');
    const limits = limitsOf(ctx, options);
    const words = await readWords(ctx, conversations, given);
    const waited = await withinDeadline(ctx, limits, (timed) =>
      waitForAll(ctx, timed, words, options),
    );
    const [first] = waited;
    if (!single) await ctx.out.list(waitedView, waited, { has_more: false });
    else if (first !== undefined && !first.isUnread)
      return await endRun(ctx, first, printOutcomeItem);
    const code = worstCode(waited.map(({ outcome }) => outcome.exit_code));
    const worst = waited.find(({ outcome }) => outcome.exit_code === code);
    if (worst === undefined) return;
    for (const other of waited) if (other !== worst) await warnIfUnread(ctx, other);
    await endAs(ctx, worst);
  });
}

async function waitForAll(
  ctx: Context,
  timed: TimedContext,
  words: string[],
  options: WaitCommandOptions,
): Promise<Waited[]> {
  const { waitMs, isOver } = timed.deadline;
  const server = await timed.servers.active().catch(nullIf(isOver));
  if (server === null)
    return words.map((word) => untracked(blankConversation(word, NOT_READ), waitMs));
  const find = finderOf(timed, server, conversations);
  const otherEnded = new AbortController();
  let progress: Promise<Progress> | null = null;
  const show = (text: string): void => {
    progress =
      progress === null
        ? ctx.terminal.progress(text)
        : progress.then((shown) => (shown.update(text), shown));
  };
  const rules = { wanted: options.for ?? null, signal: otherEnded.signal, show };
  const waits = words.map((word) => waitForOne(ctx, timed, server, find, word, rules));
  try {
    if (!options.any) return await Promise.all(waits);
    const unread: Waited[] = [];
    const first = await new Promise<Waited | null>((resolve, reject) => {
      for (const wait of waits)
        wait.then((waited) => {
          if (!waited.isUnread) return resolve(waited);
          if (unread.push(waited) === waits.length) resolve(null);
        }, reject);
    });
    if (first === null) return unread;
    for (const other of unread) await warnIfUnread(ctx, other);
    return [first];
  } finally {
    otherEnded.abort(
      new AppError('interrupted', 'another conversation ended first', { exitCode: 0 }),
    );
    await Promise.allSettled(waits);
    await (await (progress as Promise<Progress> | null))?.done();
  }
}

/** @param ctx without the deadline, which the tracker keeps itself */
async function waitForOne(
  ctx: Context,
  timed: TimedContext,
  server: Server,
  find: Finder<Conversation>,
  word: string,
  {
    show,
    ...rules
  }: { wanted: string[] | null; signal: AbortSignal; show: (text: string) => void },
): Promise<Waited> {
  let seen = blankConversation(word, NOT_READ);
  try {
    seen = await find(word).catch(async (error: unknown) => {
      if (!timed.deadline.isOver(error)) throw error;
      const found = await timed.deadline.lastRead(server, (late) =>
        findOne(ctx, late, conversations, word),
      );
      if (found === null) throw error;
      return found;
    });
    seen = await waitForStart(timed, server, seen);
    if (seen.id === '') return failedStart(seen);
    const { id } = seen;
    let isShown = false;
    let isNoticed = false;
    const { deadlineMs, waitMs } = timed.deadline;
    return await trackRun(ctx, server, id, {
      ...rules,
      seen,
      since: null,
      deadlineMs,
      waitMs,
      onState({ status }, run) {
        if (isShown ? status !== seen.status : endOfStatus(status) === null) {
          isShown = true;
          show(`conversation ${id}: ${status}`);
        }
        seen = { ...seen, status };
        if (run !== 'none' || isNoticed) return;
        isNoticed = true;
        const next = `send one: acs conv send ${id} <message>`;
        void ctx.notice(`conversation ${id} is idle and has had no message yet; ${next}`);
      },
    });
  } catch (error) {
    const named = withKnownId(seen);
    if (timed.deadline.isOver(error)) return untracked(named, timed.deadline.waitMs);
    if (!isAppError(error)) throw error;
    const waited = untracked(named, error);
    return error.kind === 'timeout' ? waited : { ...waited, isUnread: true };
  }
}

function untracked(seen: Conversation, why: AppError | number): TrackedRun {
  const failure = typeof why === 'number' ? deadlinePassedUnanswered(seen, why) : why;
  const reason = { code: failure.kind, text: failure.message };
  return { outcome: outcomeOf(seen, NO_EVENTS, failure.exitCode, reason), failure };
}

async function warnIfUnread(ctx: Context, { isUnread, outcome }: Waited): Promise<void> {
  if (!isUnread) return;
  const text = `${outcome.conversation_id}: ${outcome.reason?.text ?? ''}`;
  await ctx.warn(text);
  await ctx.terminal.quietError(text);
}

export const ERROR_MEMBERS: readonly string[] = Object.keys(
  errorRecord(new AppError('internal', '')).error,
);

export const unreadShape: RecordShape = {
  noun: 'wait error',
  fields: [{ name: 'id' }, { name: 'ok' }, { name: 'error', json: { members: ERROR_MEMBERS } }],
};

const UNREAD_FIELDS: readonly string[] = ['conversation_id', 'exit_code', 'reason'];

const waitedView: View<Waited> = {
  noun: outcomeView.noun,
  // -q prints only ids of conversations that were waited for.
  id: ({ isUnread, outcome }) => (isUnread ? '' : outcomeView.id(outcome)),
  fields: outcomeView.fields.map(({ show, ...field }) => ({
    ...field,
    ...(show && { show: ({ outcome }: Waited) => show(outcome) }),
    get: ({ isUnread, outcome }) =>
      isUnread && !UNREAD_FIELDS.includes(field.name) ? null : valueOf(field, outcome),
  })),
  table: outcomeView.table,
  tsv: outcomeView.tsv,
  record: ({ isUnread, outcome, failure }) =>
    isUnread && failure
      ? { id: outcome.conversation_id, ok: false, ...errorRecord(failure) }
      : outcome,
};
