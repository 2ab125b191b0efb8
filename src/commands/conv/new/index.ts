import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, fileProblem, isAppError } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import { explain } from '../../shared/declare.ts';
import { runView } from '../batch/results.ts';
import { eventView } from '../event-view.ts';
import { keepingMessage } from '../message.ts';
import { conversationView, outcomeView, startedShape } from '../conversations.ts';
import { addNewOptions, checkNewOptions, newLimits, type NewOptions } from './options.ts';
import {
  beforeStart,
  checkServer,
  completeDraft,
  hasTask,
  readDraft,
  type Draft,
} from './request.ts';
import { Start } from './start.ts';
import { askForTask, chooseStart, confirmTask } from './wizard.ts';

export function declare(command: Command, ctx: Context): void {
  addNewOptions(command);
  explain(command, {
    notes: [
      'Without a message acs asks for it on a terminal, and offers to set up a model where ' +
        'the local service has none. The command exits when the conversation has started; ' +
        'with --wait or --follow it exits when the run ends, with its exit code. Ctrl-C ends ' +
        'acs; the run continues.',
    ],
    json: ({ objectForm, listForm }) => [
      ['--json', `${objectForm(conversationView, 'changed')}; --wait: "outcome"; failure: "error"`],
      ['--count', listForm(runView)],
      [
        'ndjson',
        `${objectForm(startedShape)}; with --follow ${objectForm(eventView(null))}; ` +
          `${objectForm(outcomeView)}`,
      ],
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
        command: "acs conv new 'Repair the tests.' --follow",
        does: 'start on the current checkout',
      },
      { command: 'acs conv new --replay demo --no-repo --wait --json', does: 'needs no model' },
    ],
  });
  command.action((message: string | undefined, options: NewOptions) =>
    newConversation(message, options, ctx),
  );
}

async function newConversation(
  argument: string | undefined,
  options: NewOptions,
  ctx: Context,
): Promise<void> {
  checkNewOptions(ctx, argument, options);
  const { count, follow } = options;
  if (count !== undefined)
    return await (await import('../batch/count.ts')).countRuns(ctx, argument, options, count);
  // JSON is one document at the end, also with --follow; -q is the id alone.
  const { format } = ctx.globals;
  if (follow && format !== 'json' && format !== 'id') ctx.out.check(eventView(null), 'stream');
  else ctx.out.check(conversationView, 'item');
  const { start, task, ctx: own } = await beginConversation(argument, options, ctx);
  await start.print();
  const { id } = start.conversation;
  if (task !== 'asked' || id === '') return;
  const { profile } = own.globals;
  const at = profile === undefined ? id : `${id} -p ${profile}`;
  if (start.tracked === null) await ctx.notice(`follow it: acs conv follow ${at}`);
  await ctx.notice(`its answer: acs conv result ${at}`);
  await ctx.notice(`its changes: acs conv diff ${at}`);
  await ctx.notice(`continue it: acs conv chat ${at}`);
}

export async function beginConversation(
  argument: string | undefined,
  options: NewOptions,
  ctx: Context,
): Promise<{ ctx: Context; server: Server; start: Start; task: 'given' | 'asked' }> {
  const { idFile } = options;
  // A script reads the id from that file: it is made empty before anything is started.
  if (idFile !== undefined && ctx.globals.mode !== 'dry-run')
    await writeFile(path.resolve(ctx.local.cwd, idFile), '').catch((cause: unknown) => {
      const hint = 'nothing was started';
      throw new AppError(
        'config',
        `--id-file: cannot write ${idFile}: ${fileProblem(cause).reason}`,
        { hint, cause },
      );
    });
  const draft = await readDraft(ctx, argument, options);
  const startGiven = async (
    ctx: Context,
    draft: Draft,
  ): Promise<{ ctx: Context; server: Server; start: Start; task: 'given' }> => {
    const limits = newLimits(ctx, options);
    const { server, prepared } = await beforeStart(ctx, limits, options, (timed, opened) =>
      completeDraft(timed, opened, draft, options),
    );
    const start = new Start(ctx, server, { ...options, ...limits });
    await start.run(prepared.request, prepared.known);
    return { ctx, server, start, task: 'given' };
  };
  if (hasTask(draft)) {
    try {
      return await startGiven(ctx, draft);
    } catch (error) {
      if (
        !ctx.terminal.interactive ||
        !(isAppError(error) && error.details.data?.['reason'] === 'no-model')
      )
        throw error;
      const server = await ctx.servers.active();
      if (server.presence('demo-replay') !== 'present') throw error;
      // The time of the prompts does not count.
      const { ctx: chosen, replay } = await chooseStart(ctx, server);
      return await startGiven(chosen, { ...draft, replay });
    }
  }
  if (!ctx.terminal.interactive)
    throw new AppError('usage', 'missing: the message', {
      hint:
        'give the message as an argument, with --file, or as - on stdin; or replay a ' +
        'recorded run with --replay',
    });
  const chosen = await chooseStart(ctx, await ctx.servers.active());
  const { ctx: own, server } = chosen;
  await checkServer(server, options);
  return await keepingMessage(own, 'acs conv new', async (typed) => {
    const answers = await askForTask(own, chosen, options, typed);
    const asked = { ...draft, replay: chosen.replay, message: answers.message };
    const answered = { ...options, ...answers.options };
    const { request, known } = await completeDraft(own, server, asked, answered);
    if (known === null) await confirmTask(own, request);
    // The time of the prompts does not count.
    const start = new Start(own, server, { ...answered, ...newLimits(ctx, options) });
    await start.run(request, known, () => void (typed.text = null));
    return { ctx: own, server, start, task: 'asked' };
  });
}
