import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { eachEvent } from '../../domain/event.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { planSteps } from '../dry-run.ts';
import { addChoice, changeRecords, type ChangeOptions, type Verb } from '../resource/change.ts';
import { checkWord } from '../resource/find.ts';
import { readSelection } from '../selectors.ts';
import { checkRunOutput, conclude, type RunOptions } from './conclude.ts';
import { readKnownRun } from '../../runs/run-reads.ts';
import { actionOnResume } from '../../runs/status.ts';
import { addOnConfirm, checkOnConfirm } from './answering.ts';
import { conversations } from './conversations.ts';
import { findStarted, refuseUnstarted } from './started.ts';
import { staysWaiting } from '../../runs/endings.ts';
import { conversationView, idOf, outcomeView } from './view.ts';
import { addWaitTimeout, checkLimitHasWait, limitsOf } from '../wait-limit.ts';
import { beforeWatch } from './waiting.ts';
import { needsResume, resumeSandboxNow } from './resume-sandbox.ts';

type ResumeOptions = RunOptions & ChangeOptions;

const resume: Verb<Context, Conversation, ResumeOptions> = {
  resource: conversations,
  word: 'resume',
  pastTense: 'resumed',
  async apply(ctx, { server, seen, selector }) {
    refuseUnstarted(seen, idOf(seen));
    return await resumeOne(ctx, server, seen, selector?.matches);
  },
};

export function declareResume(parent: Command, ctx: Context): void {
  const command = parent.command('resume').description('start paused sandboxes and continue unfinished runs');
  addChoice(command, conversations, CONVERSATION_STATUSES)
    .option('--wait', 'return when the run has ended; for one id')
    .option('-f, --follow', 'print the events, and return when the run has ended; for one id');
  addOnConfirm(addWaitTimeout(command));
  explain(command, {
    notes: [
      'A run that was stopped, paused or failed continues; a running or finished one is left unchanged.',
      'A run that waits for a confirmation is not continued, because the server would run the pending action. Its sandbox is started when it is paused; otherwise the exit code is 8.',
      'With --status the sandbox is started only when the last status of the run, read from the events, matches.',
    ],
    json: ({ changeForms, objectForm }) => [
      ...changeForms(conversationView),
      ['--wait or --follow', objectForm(outcomeView)],
    ],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'timeout', 'interrupted'],
    examples: [
      { command: 'acs conv resume @last --follow', does: 'continue the last conversation and print its events' },
      {
        command: 'acs conv resume --status paused --not-older-than 1d -y',
        does: 'continue the paused conversations of the last day',
      },
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
    throw new AppError('usage', '--wait and --follow need a single id', {
      hint: 'wait for several: acs conv wait <id> <id> …',
    });
  }
  const stays = options.wait === true || options.follow === true;
  checkOnConfirm(options, stays);
  checkLimitHasWait(options, stays, 'needs --wait or --follow');
  for (const word of given) if (word !== '-') checkWord(conversations, word);
  const limits = limitsOf(ctx, options);
  if (!single) return await changeRecords(ctx, resume, given, options);
  const [word = ''] = given;
  const resumed = await beforeWatch(ctx, limits, word, async (timed, server, see) => {
    const seen = see(await findStarted(timed, server, word));
    const { last } = await readKnownRun(server, seen.id);
    if (ctx.globals.mode !== 'dry-run') return { last, ...(await resumeOne(timed, server, seen)) };
    await planSteps(ctx, stepsOf(server, seen));
    return null;
  });
  if (resumed === null) return;
  const { changed, started, record, last } = resumed;
  const place = started ? { startedAfter: last } : {};
  await conclude(ctx, await ctx.server(), record, { ...options, ...limits, ...place, changed });
}

function stepsOf(server: Server, seen: Conversation) {
  refuseGone(seen);
  const start = { what: 'start its sandbox', task: () => server.conversations.startSandbox(seen.id) };
  const goOn = {
    what: 'continue the run unless it has ended or waits for a confirmation',
    task: async () => {
      const conversation = await server.conversations.getComplete(seen.id);
      if (isPendingWhilePaused(conversation)) return;
      if (await canContinue(server, conversation)) await server.conversations.run(seen.id);
    },
  };
  return needsResume(seen) ? [start, goOn] : [goOn];
}

/**
 * Starts the sandbox and continues the run, as far as either is needed. A run that waits for a confirmation is not
 * continued, because the server would carry the pending action out: where the sandbox was started that is a notice, and
 * where nothing is left to be done `needs-input` is thrown.
 */
async function resumeOne(ctx: Context, server: Server, seen: Conversation, isSelected?: Test): Promise<Resumed> {
  refuseGone(seen);
  const conversation = await server.conversations.getComplete(seen.id);
  const before = conversation.status;
  if (!needsResume(conversation)) return { ...(await goOn(server, conversation)), before };
  // A list may show a run as paused that has ended or waits: only the events of a paused sandbox have its last state.
  if (isSelected?.(conversation) === false)
    return { started: false, changed: false, before, after: before, record: conversation };
  const running = await resumeSandboxNow(ctx, server, conversation);
  const resumed = await goOnUnlessPending(ctx, server, running, isPendingWhilePaused(conversation));
  return { ...resumed, changed: true, before };
}

/** `started`: the server has taken the order to continue the run. */
type Resumed = Change<Conversation> & { started: boolean };
type Test = (conversation: Conversation) => boolean;

/** @param isPending whether a confirmation was pending before the sandbox was started */
async function goOnUnlessPending(
  ctx: Context,
  server: Server,
  running: Conversation,
  isPending: boolean,
): Promise<Omit<Resumed, 'before'>> {
  if (!isPending) {
    try {
      return await goOn(server, running);
    } catch (error) {
      if (!isAppError(error) || error.details.data?.['waiting_for'] !== 'confirmation') throw error;
    }
  }
  const record = await server.conversations.getComplete(running.id);
  await ctx.notice(`the sandbox was started; ${staysWaiting(record.id)}: answer it with acs conv confirm ${record.id}`);
  return { started: false, changed: true, after: record.status, record };
}

async function goOn(server: Server, running: Conversation): Promise<Omit<Resumed, 'before'>> {
  const started = (await canContinue(server, running)) && (await server.conversations.run(running.id)) === 'started';
  const record = started ? await server.conversations.get(running.id) : running;
  return { started, changed: started, after: record.status, record };
}

function isPendingWhilePaused(conversation: Conversation): boolean {
  return needsResume(conversation) && conversation.status === 'waiting';
}

function refuseGone({ id, status, sandbox_status }: Conversation): void {
  if (status !== 'archived' && sandbox_status !== 'missing') return;
  throw new AppError('conflict', `the sandbox of conversation ${id} is gone: it cannot be resumed`, {
    hint: `its events stay readable: acs conv events ${id}`,
  });
}

/** A conversation without a user message has no run to continue. */
async function canContinue(server: Server, { id, status }: Conversation): Promise<boolean> {
  const onResume = actionOnResume(status);
  if (onResume !== 'run-if-message') return onResume === 'run';
  for await (const event of eachEvent(server.conversations.eventPages(id, { order: 'oldest-first' }))) {
    if (event.signal === 'message') return true;
  }
  return false;
}
