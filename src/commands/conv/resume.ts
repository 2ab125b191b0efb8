import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Change, Target } from '../bulk.ts';
import { changeEach, failedItem, readIds } from '../bulk.ts';
import { explain } from '../declare.ts';
import { planSteps } from '../dry-run.ts';
import { checkIdWord } from '../ids.ts';
import { addSelectorOptions, readSelection } from '../selectors.ts';
import { isUserMessage } from '../../domain/outcome.ts';
import { checkRunOutput, conclude, type RunOptions } from './conclude.ts';
import { readKnownRun } from './evidence.ts';
import { addOnConfirm, checkOnConfirm } from './answering.ts';
import { changeConversations, type ChangeOptions, type ConversationVerb } from './change.ts';
import { deadlineOf } from './follow.ts';
import { findStarted } from './started.ts';
import { BULK_JSON, CONVERSATION_JSON, conversationView, idOf, OUTCOME_JSON } from './view.ts';
import { addWaitTimeout, beforeWatch, checkLimitHasWait } from './waiting.ts';
import { isAsleep, wakeNow } from './wake.ts';

type ResumeOptions = RunOptions & ChangeOptions;

const resume: ConversationVerb = {
  word: 'resume',
  past: 'resumed',
  asks: 'by-selector',
  async apply(ctx, { server, seen }) {
    if (seen.id === '')
      throw new AppError('conflict', `start task ${idOf(seen)} is still being worked at: there is no run yet`);
    return await resumeOne(ctx, server, await server.conversations.get(seen.id));
  },
};

export function declareResume(parent: Command, ctx: Context): void {
  const command = parent.command('resume').description('wake conversations and go on with runs that have not ended');
  command.argument('[id...]', 'conversations; - reads ids from stdin');
  addSelectorOptions(command, CONVERSATION_STATUSES)
    .option('--all', 'every conversation')
    .option('--wait', 'until the run has ended; one id')
    .option('-f, --follow', 'the same, and show it');
  addOnConfirm(addWaitTimeout(command));
  explain(command, {
    notes: [
      'A run that was stopped, paused or failed goes on where it stood; one that runs or is finished stays as it is.',
      'While a confirmation waits nothing goes on (8): the server would carry the action out. sandbox resume only wakes.',
    ],
    json: [`${CONVERSATION_JSON} plus "changed"   one id`, `${OUTCOME_JSON}   with --wait or --follow`, BULK_JSON],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'timeout', 'interrupted'],
    examples: [
      { command: 'acs conv resume @last --follow', does: 'goes on with the last conversation, and shows it' },
      { command: 'acs conv resume --status paused --not-older-than 1d -y', does: 'goes on with all that were paused' },
    ],
  });
  command.action((ids: string[], options: ResumeOptions) => resumeConversations(ids, options, ctx));
}

export async function resumeConversations(
  given: readonly string[],
  options: ResumeOptions,
  ctx: Context,
): Promise<void> {
  const bySelector = readSelection(options) !== null || options.all === true;
  const single = given.length === 1 && given[0] !== '-' && !bySelector;
  if (single) checkRunOutput(ctx, options);
  else ctx.out.check(conversationView, 'bulk');
  if (!single && (options.wait || options.follow)) {
    throw new AppError('usage', '--wait and --follow go with one id', {
      hint: 'wait for several with: acs conv wait <id> <id> …',
    });
  }
  const stays = options.wait === true || options.follow === true;
  checkOnConfirm(options, stays);
  checkLimitHasWait(options, stays, '--wait or --follow');
  for (const word of given) if (word !== '-') checkIdWord(word);
  const limits = deadlineOf(ctx, options);
  if (bySelector || given.length === 0) return await changeConversations(ctx, resume, given, options);
  if (!single) return await resumeEach(ctx, await readIds(ctx, given));
  const [word = ''] = given;
  const resumed = await beforeWatch(ctx, limits, word, async (timed, server) => {
    const seen = await findStarted(timed, server, word);
    const { last } = await readKnownRun(server, seen.id);
    if (ctx.globals.mode !== 'dry-run') return { last, ...(await resumeOne(timed, server, seen)) };
    await planSteps(ctx, stepsOf(server, seen));
    return null;
  });
  if (resumed === null) return;
  const { changed, record, last } = resumed;
  const since = changed ? { since: last?.id } : {};
  await conclude(ctx, await ctx.server(), record, { ...options, ...limits, ...since, changed });
}

async function resumeEach(ctx: Context, words: readonly string[]): Promise<void> {
  const server = await ctx.server();
  const targets: (Target & { seen: Conversation })[] = [];
  const lost = [];
  for (const word of words) {
    try {
      checkIdWord(word);
      const seen = await findStarted(ctx, server, word);
      if (!targets.some(({ id }) => id === seen.id)) targets.push({ id: seen.id, server, seen });
    } catch (error) {
      lost.push(failedItem(word, error));
    }
  }
  await changeEach(ctx, {
    targets,
    lost,
    past: 'resumed',
    apply: (target) => resumeOne(ctx, server, (target as (typeof targets)[number]).seen),
  });
}

function stepsOf(server: Server, seen: Conversation) {
  refuseGone(seen);
  const wake = { what: 'wake its sandbox', task: () => server.conversations.wake(seen.id) };
  const goOn = {
    what: 'go on with the run if it has not ended',
    task: async () => (await isUnfinished(server, seen)) && (await server.conversations.run(seen.id)),
  };
  return isAsleep(seen) ? [wake, goOn] : [goOn];
}

/** Wakes and goes on, as far as either is needed. */
async function resumeOne(ctx: Context, server: Server, seen: Conversation): Promise<Change<Conversation>> {
  const before = seen.status;
  refuseGone(seen);
  const wasAsleep = isAsleep(seen);
  const awake = wasAsleep ? await wakeNow(ctx, server, seen) : await server.conversations.getSettled(seen.id);
  const started = (await isUnfinished(server, awake)) && (await server.conversations.run(awake.id)) === 'started';
  const record = started ? await server.conversations.get(awake.id) : awake;
  return { changed: wasAsleep || started, before, after: record.status, record };
}

function refuseGone({ id, status, sandbox_status }: Conversation): void {
  if (status !== 'archived' && sandbox_status !== 'missing') return;
  throw new AppError('conflict', `the sandbox of conversation ${id} is gone: it cannot be resumed`, {
    hint: `its events stay readable: acs conv events ${id}`,
  });
}

/** A conversation that nobody has told anything has no run to go on with. */
async function isUnfinished(server: Server, { id, status }: Conversation): Promise<boolean> {
  if (status === 'finished' || status === 'starting') return false;
  if (status !== 'idle') return true;
  for await (const event of server.conversations.events(id, { order: 'oldest-first' })) {
    if (isUserMessage(event)) return true;
  }
  return false;
}
