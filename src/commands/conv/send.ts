import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isOfKind } from '../../base/errors.ts';
import type { OutgoingMessage, Server } from '../../client/shared/server.ts';
import type { ConfirmationDecision } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { readKnownRun } from '../../runs/tracker.ts';
import { explain } from '../shared/declare.ts';
import { collect } from '../shared/option-parsers.ts';
import { checkWord } from '../shared/resource.ts';
import { addWaitTimeout, limitsOf, RUN_EXITS } from '../shared/wait-limit.ts';
import { addOnConfirm, decisionOf, PAST, refuseEnded } from './confirm.ts';
import { conversations, conversationView, outcomeView } from './conversations.ts';
import { beforeWatch, findStarted } from './find-conversation.ts';
import { checkRunOptions, printRun, type RunOptions } from './follow.ts';
import { showingUnsent, readImages, readMessage, writeMessage } from './message.ts';
import { needsResume, resumeSandbox } from './resume-sandbox.ts';

interface SendOptions extends RunOptions {
  file?: string;
  image?: string[];
  resume?: boolean;
  accept?: boolean;
  reject?: boolean;
}

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .argument('[message]', 'the message; - reads it from stdin; without it your editor opens')
    .option('-F, --file <file|->', 'read the message from this file')
    .option('--image <file|url>', 'attach an image to the message (repeatable)', collect)
    .option('--resume', 'start a paused sandbox first')
    .option('--accept', 'accept the pending action first')
    .option('--reject', 'reject the pending action first')
    .option('--wait', 'return when the run has ended')
    .option('-f, --follow', 'print the events, and return when the run has ended');
  addOnConfirm(addWaitTimeout(command));
  explain(command, {
    notes: [
      'While a confirmation is pending the message is refused (8), because it would make ' +
        'the server run the pending action; --accept or --reject answers it first.',
      'A text from the editor that could not be sent is kept in a file.',
    ],
    json: ({ objectForm }) => [
      ['default', objectForm(conversationView, 'changed')],
      ['--wait or --follow', objectForm(outcomeView)],
    ],
    exits: [...RUN_EXITS, 'unknown-outcome'],
    examples: {
      "acs conv send @last 'Now add a test for it' --wait": 'continue it and wait',
      "acs conv send @last --reject 'Use another branch'": 'answer the pending action first',
    },
  });
  command.action((id: string, message: string | undefined, options: SendOptions) =>
    send(id, message, options, ctx),
  );
}

async function send(
  word: string,
  argument: string | undefined,
  options: SendOptions,
  ctx: Context,
): Promise<void> {
  checkRunOptions(ctx, options);
  checkWord(conversations, word);
  const { resume } = options;
  const decision = decisionOf(options);
  const given = await readMessage(ctx, { argument, file: options.file });
  if (given === null && !ctx.terminal.interactive)
    throw new AppError('usage', 'no message was given', {
      hint: 'give it as an argument, with --file, or as - on stdin',
    });
  const image_urls = await readImages(ctx, options.image ?? []);
  await showingUnsent(ctx, async (typed) => {
    let text = given;
    if (text === null) {
      // A message that would be refused is not written.
      const found = await findStarted(ctx, await ctx.servers.active(), word);
      if (decision === null) refuseWaiting(found);
      text = await writeMessage(ctx, 'What should the agent do next?', typed);
    }
    const message = { text, image_urls };
    const limits = limitsOf(ctx, options);
    let state = 'the message was not sent';
    const onSend = (): void => {
      state = 'whether the message was sent is not known';
      typed.text = null;
    };
    const { conversation, last } = await beforeWatch(
      ctx,
      limits,
      word,
      async (timed, server, see) => {
        const found = see(await findStarted(timed, server, word));
        const delivered = await deliver(timed, server, found, {
          message,
          decision,
          resume,
          see,
          onSend,
        });
        if (decision === null) await ctx.notice(`sent to conversation ${found.id}`);
        return delivered;
      },
    ).catch((error: unknown) => {
      if (!isOfKind('timeout')(error)) throw error;
      throw error.with({}, `${error.message}; ${state}`);
    });
    const run = { ...options, ...limits, startedAfter: last, changed: true };
    await printRun(ctx, conversation, run);
  });
}

/** Throws `needs-input` for a pending action without an answer, `conflict` without a sandbox. */
export async function deliver(
  ctx: Context,
  server: Server,
  found: Conversation,
  {
    message,
    decision,
    resume,
    see = (read) => read,
    onSend,
  }: {
    message: OutgoingMessage;
    decision: ConfirmationDecision | null;
    resume?: boolean | undefined;
    see?: (conversation: Conversation) => Conversation;
    onSend: () => void;
  },
): Promise<{ conversation: Conversation; last: ConversationEvent | null }> {
  const { id } = found;
  if (found.status === 'archived' || found.sandbox_status === 'missing')
    throw new AppError(
      'conflict',
      `the sandbox of conversation ${id} no longer exists, so it accepts no messages`,
      {
        hint: `its events are kept: acs conv events ${id}`,
      },
    );
  let conversation = found;
  if (needsResume(found)) {
    // The last state of the run shows whether the command would be refused after the start.
    const before = await server.conversations.getComplete(id);
    if (decision === null) refuseWaiting(before);
    else refuseEnded(before);
    conversation = see(await resumeSandbox(ctx, server, found, { resume }));
  }
  if (decision === null) refuseWaiting(conversation);
  const { last } = await readKnownRun(server, conversation);
  onSend();
  if (decision === null) {
    await server.conversations.send(conversation, message);
    return { conversation, last };
  }
  const answered = await server.conversations.answer(id, {
    decision,
    reason: null,
    action_id: null,
  });
  await ctx.notice(`${PAST[decision]}: ${answered[0]?.text ?? ''}`);
  const pending = await server.conversations.pending(id);
  if (pending.length > 0)
    throw new AppError('needs-input', `another action is pending: ${pending[0]?.text ?? ''}`, {
      hint: `the message was not sent; see the action: acs conv confirm ${id}`,
      data: { id, waiting_for: 'confirmation', pending: pending.map(({ action_id }) => action_id) },
    });
  // A message that starts a run would execute the next action without approval.
  await server.conversations.send(id, { ...message, effect: 'store' });
  await ctx.notice(`sent to conversation ${id}`);
  await server.conversations.run(id);
  return { conversation, last };
}

function refuseWaiting({ id, status, sandbox_status }: Conversation): void {
  if (status !== 'waiting') return;
  const flags =
    sandbox_status === 'paused' ? '--resume and --accept or --reject' : '--accept or --reject';
  const text =
    `conversation ${id} waits for a confirmation: a message would make the server run the ` +
    'pending action';
  throw new AppError('needs-input', text, {
    hint:
      `see the action: acs conv confirm ${id}\nthen answer it, alone or with the message: ` +
      `${flags}`,
    data: { id, waiting_for: 'confirmation' },
  });
}
