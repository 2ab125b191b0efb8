import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, DryRunStop, isAppError } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { eachItem } from '../../domain/pages.ts';
import { staysWaiting } from '../../runs/outcome.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { readKnownRun } from '../../runs/tracker.ts';
import { actionOnResume } from '../../runs/status.ts';
import { changeLine, shortId, type Change } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { addChoice, changeRecords, type ChangeOptions, type Verb } from '../shared/change.ts';
import { checkWord, isSingle } from '../shared/resource.ts';
import { hasSelector } from '../shared/lists.ts';
import { addWaitTimeout, limitsOf, RUN_EXITS } from '../shared/wait-limit.ts';
import { addOnConfirm } from './confirm.ts';
import { conversations, conversationView, idOrTaskId, outcomeView } from './conversations.ts';
import { beforeWatch, findStarted, refuseUnstarted } from './find-conversation.ts';
import { checkRunOptions, printRun, type RunOptions } from './follow.ts';
import { needsResume, resumeSandboxNow } from './resume-sandbox.ts';

type ResumeOptions = RunOptions & ChangeOptions;

export function declare(command: Command, ctx: Context): void {
  addChoice(command, conversations, CONVERSATION_STATUSES)
    .option('--wait', 'return when the run has ended; for one id')
    .option('-f, --follow', 'print the events, and return when the run has ended; for one id');
  addOnConfirm(addWaitTimeout(command));
  explain(command, {
    notes: [
      'A run that was stopped, paused or failed continues; a running or finished one is ' +
        'left unchanged. A run that waits for a confirmation does not continue: its paused ' +
        'sandbox is started, and when its sandbox was not paused the exit code is 8.',
    ],
    json: ({ changeForms, objectForm }) => [
      ...changeForms(conversationView),
      ['--wait or --follow', objectForm(outcomeView)],
    ],
    exits: RUN_EXITS,
    examples: {
      'acs conv resume @last --follow': 'continue it and print its events',
      'acs conv resume --status paused --repo acme/shop -y': 'continue those on a repository',
    },
  });
  command.action(async (given: readonly string[], options: ResumeOptions) => {
    const [word = ''] = given;
    const single = isSingle(given) && !hasSelector(options);
    if (!single && (options.wait || options.follow))
      throw new AppError('usage', '--wait and --follow need a single id', {
        hint: 'wait for several: acs conv wait <id> <id> …',
      });
    checkRunOptions(ctx, options);
    const limits = limitsOf(ctx, options);
    if (!single) return await changeRecords(ctx, resumption, given, options);
    checkWord(conversations, word);
    const { changed, started, record, last } = await beforeWatch(
      ctx,
      limits,
      word,
      async (timed, server, see) => {
        const seen = see(await findStarted(timed, server, word));
        const run = await readKnownRun(server, seen);
        return { last: run.last, ...(await resumeOne(timed, server, seen)) };
      },
    );
    if (ctx.globals.mode === 'dry-run') throw new DryRunStop();
    const after = started ? { startedAfter: last } : {};
    const line = changeLine('resumed', shortId(record.id), { changed, after: record.status });
    await printRun(ctx, record, { ...options, ...limits, ...after, changed, line });
  });
}

const resumption: Verb<Context, Conversation, ResumeOptions> = {
  resource: conversations,
  word: 'resume',
  pastTense: 'resumed',
  async apply(ctx, { server, seen, matches }) {
    refuseUnstarted(seen, idOrTaskId(seen));
    return await resumeOne(ctx, server, seen, matches);
  },
};

async function resumeOne(
  ctx: Context,
  server: Server,
  seen: Conversation,
  isSelected: (conversation: Conversation) => boolean = () => true,
): Promise<Change<Conversation> & { started: boolean }> {
  const { id } = seen;
  if (seen.status === 'archived' || seen.sandbox_status === 'missing')
    throw new AppError(
      'conflict',
      `the sandbox of conversation ${id} is gone: it cannot be resumed`,
      { hint: `its events stay readable: acs conv events ${id}` },
    );
  let record = await server.conversations.getComplete(id);
  const { status: before } = record;
  const isPaused = needsResume(record);
  if (isPaused) {
    // The record of a paused sandbox may lack the end of its run; its events have it.
    if (!isSelected(record))
      return { started: false, changed: false, before, after: before, record };
    record = await resumeSandboxNow(ctx, server, record);
  }
  const run =
    isPaused && before === 'waiting' ? 'waits' : await continueRun(server, record, isPaused);
  if (run === 'started') record = await readThroughOutage(ctx, () => server.conversations.get(id));
  if (run === 'waits') {
    record = await readThroughOutage(ctx, () => server.conversations.getComplete(id));
    await ctx.notice(
      `the sandbox was started; ${staysWaiting(id)}: answer it with acs conv confirm ${id}`,
    );
  }
  const started = run === 'started';
  return { started, changed: started || isPaused, before, after: record.status, record };
}

/** `waits`: for a confirmation, in a sandbox that was just resumed. */
async function continueRun(
  { conversations: { run, eventPages } }: Server,
  { id, status }: Conversation,
  isResumed: boolean,
): Promise<'started' | 'unchanged' | 'waits'> {
  const hasMessage = async (): Promise<boolean> => {
    for await (const { signal } of eachItem(eventPages(id, { order: 'oldest-first' })))
      if (signal === 'message') return true;
    return false;
  };
  try {
    const action = actionOnResume(status);
    const isRun = action === 'run' || (action === 'run-if-message' && (await hasMessage()));
    return isRun && (await run(id)) === 'started' ? 'started' : 'unchanged';
  } catch (error) {
    const isWaiting = isAppError(error) && error.details.data?.['waiting_for'] === 'confirmation';
    if (isResumed && isWaiting) return 'waits';
    throw error;
  }
}
