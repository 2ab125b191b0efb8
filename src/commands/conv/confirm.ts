import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, EXIT_CODES } from '../../errors.ts';
import type { ConfirmationAnswer, Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { planSteps } from '../dry-run.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { askDecision, confirmationOf, confirmationView, PAST, refuseNeedlessStart } from './confirmation.ts';
import { findStarted } from './started.ts';
import { needsResume, resumeSandbox, resumeSandboxNow } from './resume-sandbox.ts';

export interface ConfirmOptions {
  accept?: boolean;
  reject?: boolean;
  reason?: string;
  action?: string;
  resume?: boolean;
}

export function declareConfirm(parent: Command, ctx: Context): void {
  const command = parent
    .command('confirm')
    .description('show the action that awaits approval, and accept or reject it');
  command
    .argument('<id>', 'the conversation')
    .option('--accept', 'accept the pending action')
    .option('--reject', 'reject it; the agent then waits for a message')
    .option('--reason <text>', 'the reason, which is sent to the agent')
    .option('--action <id>', 'answer only this action')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'On a terminal acs asks for the answer. Off a terminal without --accept or --reject the action is printed and the exit code is 8; -y does not answer it.',
      'The pending action of a paused sandbox is read from the events; an answer needs --resume.',
      'With --action another pending action, or none, is exit code 6, so that an answer cannot reach an action that was not shown. The risk is low, medium, high or unknown.',
    ],
    json: ({ objectForm }) => [objectForm(confirmationView, 'changed')],
    exits: ['not-found', 'conflict', 'needs-input', 'unknown-outcome', 'unsupported'],
    examples: [
      { command: 'acs conv confirm @last', does: 'show the pending action and ask' },
      {
        command: "acs conv confirm @last --reject --reason 'Not on the main branch'",
        does: 'reject it with a reason',
      },
    ],
  });
  command.action((id: string, options: ConfirmOptions) => confirmAction(id, options, ctx));
}

export async function confirmAction(word: string, options: ConfirmOptions, ctx: Context): Promise<void> {
  ctx.out.check(confirmationView, 'item');
  checkWord(conversations, word);
  const decision = decisionOf(options);
  if (options.reason !== undefined && decision !== 'reject') throw new AppError('usage', '--reason needs --reject');
  const server = await ctx.server();
  let seen = await findStarted(ctx, server, word);
  const { id } = seen;
  const answer = async (chosen: ConfirmationDecision, action_id: string | null): Promise<void> => {
    const reply = { decision: chosen, reason: options.reason ?? null, action_id };
    const answered = await answerPending(ctx, server, seen, reply, options);
    await ctx.out.item(confirmationView, confirmationOf(id, answered, PAST[chosen]), { changed: true });
  };
  if (decision !== null) return await answer(decision, options.action ?? null);

  if (options.resume && needsResume(seen) && ctx.globals.mode === 'live') {
    await refuseNeedlessStart(server, id, 'answer');
    seen = await resumeSandboxNow(ctx, server, seen);
  }
  const pending = await server.conversations.pending(id, 'read-copy');
  const shown = confirmationOf(id, pending, null);
  if (options.action !== undefined && !pending.some(({ action_id }) => action_id === options.action)) {
    throw new AppError('conflict', `another action is pending: ${shown.action_id}, not ${options.action}`, {
      data: { pending: pending.map(({ action_id }) => action_id) },
    });
  }
  const chosen = ctx.interactive && ctx.globals.mode === 'live' ? await askDecision(ctx, pending) : null;
  if (chosen !== null) return await answer(chosen, shown.action_id);
  ctx.exitCode = EXIT_CODES['needs-input'];
  await ctx.out.item(confirmationView, shown, { changed: false });
  await ctx.notice(
    `the action is pending; answer it: acs conv confirm ${id} --action ${shown.action_id} --accept or --reject`,
  );
}

/** Answers the pending action, after the start of a paused sandbox. Throws `conflict` when none is pending. */
export async function answerPending(
  ctx: Context,
  server: Server,
  seen: Conversation,
  reply: ConfirmationAnswer,
  options: Pick<ConfirmOptions, 'resume'>,
): Promise<PendingAction[]> {
  await startForAnswer(ctx, server, seen, reply, options);
  return await server.conversations.answer(seen.id, reply);
}

/** Starts a paused sandbox, which --resume or a person allows; in a dry run both requests are printed. */
async function startForAnswer(
  ctx: Context,
  server: Server,
  seen: Conversation,
  reply: ConfirmationAnswer,
  { resume }: ConfirmOptions,
): Promise<void> {
  if (!needsResume(seen)) return;
  const { id } = seen;
  await server.conversations.checkAnswer(id, reply);
  await refuseNeedlessStart(server, id, 'answer');
  const start = () =>
    resumeSandbox(ctx, server, seen, { resume, command: `acs conv confirm ${id} --${reply.decision}` });
  if (ctx.globals.mode === 'live') return void (await start());
  await planSteps(ctx, [
    { what: 'start its sandbox', task: start },
    { what: `${reply.decision} the action`, task: () => server.conversations.answer(id, reply) },
  ]);
}

/** Throws `usage` for both. */
export function decisionOf({ accept, reject }: { accept?: boolean; reject?: boolean }): ConfirmationDecision | null {
  if (accept && reject) throw new AppError('usage', '--accept and --reject exclude each other');
  return accept ? 'accept' : reject ? 'reject' : null;
}
