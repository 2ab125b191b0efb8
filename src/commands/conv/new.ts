import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { limitsAfter, withinDeadline, type Limits, type TimedContext } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { eventView } from './event-view.ts';
import { runView } from './batch/task-result.ts';
import { Announcer, checkIdFile } from './new-announce.ts';
import { checkServer, completeDraft, hasTask, readDraft } from './new-draft.ts';
import { keepingMessage } from './new-kept.ts';
import { chooseStart } from './new-model.ts';
import { addNewOptions, checkNewOptions, stayOf, type NewOptions } from './new-options.ts';
import { startAndTrack, type Started } from './new-start.ts';
import { askForTask, confirmTask } from './new-wizard.ts';
import { checkTitle } from './rename.ts';
import { conversationView, outcomeView, startedShape } from './view.ts';
import { limitsOf } from '../wait-limit.ts';

export function declareNew(parent: Command, ctx: Context): void {
  const command = parent.command('new').alias('create').description('start a conversation');
  addNewOptions(command);
  explain(command, {
    notes: [
      'Without a message acs asks for it on a terminal. The command returns when the conversation has started; with --wait or --follow when the run has ended, with the exit code of the run. Ctrl-C ends acs; the run continues.',
      'The id is printed to stderr as soon as it is known; -q prints it to stdout, --id-file writes it to a file.',
      '--replay reads events as `acs conv events --json` prints them, or as a server returns them, and runs the recorded actions again.',
      'Members of the file of --members: agent_type, agent_profile_id, parent_conversation_id, plugins, processors, public, pr_number, trigger, observability_metadata, observability_tags, observability_span_name.',
    ],
    json: ({ objectForm, listForm }) => [
      ['--json', `${objectForm(conversationView, 'changed')}; with --wait also "outcome", after a failure "error"`],
      ['--count', listForm(runView)],
      ['ndjson, first line', objectForm(startedShape)],
      ['ndjson with --follow', `${objectForm(eventView(null))}, one a line`],
      ['ndjson, last line', `${objectForm(outcomeView)}, with --wait or --follow`],
    ],
    exits: [
      'failed',
      'not-found',
      'conflict',
      'needs-input',
      'unknown-outcome',
      'unsupported',
      'timeout',
      'interrupted',
    ],
    examples: [
      {
        command: "acs conv new 'Find out why the tests fail' --follow",
        does: 'start on the current checkout and print the events of the run',
      },
      {
        command: 'acs conv new --file task.md --no-repo --wait --json',
        does: 'read the message from a file, wait, and print one document',
      },
      {
        command: "acs conv new 'Repair the tests.' --count 3",
        does: 'start the task three times, and print outcome, cost, time and diff size of each',
      },
      { command: 'acs conv new --replay demo --follow', does: 'replay the built-in recorded run; needs no model' },
    ],
  });
  command.action((message: string | undefined, options: NewOptions) => newConversation(message, options, ctx));
}

export async function newConversation(argument: string | undefined, given: NewOptions, ctx: Context): Promise<void> {
  checkNewOptions(ctx, argument, given);
  if (given.count !== undefined) {
    return await (await import('./batch/count.ts')).countRuns(ctx, argument, given, given.count);
  }
  checkOutput(ctx, given);
  const { announcer, conversation, tracked } = await beginConversation(argument, given, ctx);
  if (tracked === null) await announcer.started(conversation);
  else await announcer.ended(conversation, tracked);
}

/** A start whose end is not printed yet. */
export interface Begun extends Started {
  server: Server;
  announcer: Announcer;
}

/** Starts a conversation as the flags state; on a terminal prompts complete them. */
export async function beginConversation(argument: string | undefined, given: NewOptions, ctx: Context): Promise<Begun> {
  const limits = limitsOf(ctx, given);
  const stay = stayOf(given);
  // Else the time is the one for the start alone.
  const isWhole = stay === 'ended' || (given.waitTimeout ?? given.timeout) !== undefined;
  const options: NewOptions = { ...given, repo: given.repo ?? given.R };
  if (options.title !== undefined) checkTitle(options.title);
  if (options.idFile !== undefined) await checkIdFile(ctx, options.idFile);
  const draft = await readDraft(ctx, argument, options);
  const isTaskMissing = !hasTask(draft);
  if (isTaskMissing && !ctx.interactive) {
    throw new AppError('usage', 'no message was given, and prompts are off', {
      hint: 'give the message as an argument, with --file, or as - on stdin; or replay a recorded run with --replay',
    });
  }
  // Prompts have no deadline.
  const lookUps = isWhole && !isTaskMissing ? limits : limitsAfter(ctx, Number.POSITIVE_INFINITY);
  const { server, replay } = await beforeStart(ctx, lookUps, async (timed) => {
    const inForce = await timed.server();
    const found = isTaskMissing ? await chooseStart(timed, inForce) : { server: inForce, replay: null };
    await checkServer(found.server, options);
    return found;
  });
  const chosenStart = { server, replay: replay ?? draft.replay };
  return await keepingMessage(ctx, 'acs conv new', async (typed) => {
    const answers = isTaskMissing ? await askForTask(ctx, chosenStart, options, typed) : null;
    const chosen = { ...options, ...answers?.options };
    const { request, known } = await beforeStart(ctx, lookUps, async (timed) => {
      const bound = await server.withSignal(timed.signal);
      const suggested_task = answers?.task ?? draft.suggested_task;
      const message = answers?.message ?? draft.message;
      const asked = { ...draft, replay: chosenStart.replay, suggested_task, message };
      return await completeDraft(timed, bound, asked, chosen);
    });
    if (known === null && answers !== null) await confirmTask(ctx, request);
    const onStarted = () => void (typed.text = null);
    const announcer = new Announcer(ctx, server, { ...options, changed: known === null });
    const how = { ...options, ...limits, isWhole, stay, known, announcer, onStarted };
    return { server, announcer, ...(await startAndTrack(ctx, server, request, how)) };
  });
}

/** What is looked up before the start is sent, which ends at the deadline. */
async function beforeStart<T>(ctx: Context, limits: Limits, work: (timed: TimedContext) => Promise<T>): Promise<T> {
  return await withinDeadline(ctx, limits, async (timed) => {
    try {
      return await work(timed);
    } catch (error) {
      if (!timed.deadline.isOver(error)) throw error;
      const { message, details } = error as AppError;
      throw new AppError('timeout', `${message}; nothing was started`, details);
    }
  });
}

/** Json is one document at the end, also with --follow; -q is the id alone. */
function checkOutput(ctx: Context, options: NewOptions): void {
  const { format } = ctx.globals;
  const isStream = options.follow === true && format !== 'json' && format !== 'id';
  if (isStream) ctx.out.check(eventView(null), 'stream');
  else ctx.out.check(conversationView, 'item');
}
