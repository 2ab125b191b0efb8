import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError, isAppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { OutgoingMessage, Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { planSteps } from '../dry-run.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { collect } from '../option-parsers.ts';
import { addOnConfirm, checkOnConfirm } from './answering.ts';
import { checkRunOutput, conclude, type RunOptions } from './conclude.ts';
import { decisionOf } from './confirm.ts';
import { PAST, refuseNeedlessStart, refuseWaiting } from './confirmation.ts';
import { readKnownRun } from '../../runs/run-reads.ts';
import { readImages } from './images.ts';
import { readMessage, writeMessage } from './message.ts';
import { keepingMessage, type TypedMessage } from './new-kept.ts';
import { findStarted } from './started.ts';
import { conversationView, outcomeView } from './view.ts';
import { addWaitTimeout, checkLimitHasWait, limitsOf } from '../wait-limit.ts';
import { beforeWatch } from './waiting.ts';
import { needsResume, resumeSandbox } from './resume-sandbox.ts';

/** An answered action stops waiting within this time. */
const SETTLE_MS = 30_000;

export interface SendOptions extends RunOptions {
  file?: string;
  image?: string[];
  resume?: boolean;
  accept?: boolean;
  reject?: boolean;
}

export function declareSend(parent: Command, ctx: Context): void {
  const command = parent.command('send').description('send a message to a conversation and continue the run');
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
      'While a confirmation is pending the message is refused (8) unless --accept or --reject answers it: a message would make the server run the pending action. When another action is pending after --accept the message is not sent either.',
      'Without a message the editor of VISUAL or EDITOR opens on a terminal; an empty text is not sent, and the exit code is 2. A text that could not be sent is kept in a file.',
      'Without --wait the conversation is printed as it is right after the server accepted the message.',
    ],
    json: ({ objectForm }) => [
      ['default', objectForm(conversationView, 'changed')],
      ['--wait or --follow', objectForm(outcomeView)],
    ],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'unknown-outcome', 'timeout', 'interrupted'],
    examples: [
      {
        command: "acs conv send @last 'Now add a test for it' --wait",
        does: 'continue the last conversation and wait',
      },
      {
        command: 'acs conv send @last --file review.md --resume --follow',
        does: 'start its sandbox, send a file, and print the events of the run',
      },
      {
        command: "acs conv send @last --reject 'Use a branch of your own' --wait",
        does: 'reject the pending action and say what to do instead',
      },
    ],
  });
  command.action((id: string, message: string | undefined, options: SendOptions) =>
    sendMessage(id, message, options, ctx),
  );
}

export async function sendMessage(
  word: string,
  argument: string | undefined,
  options: SendOptions,
  ctx: Context,
): Promise<void> {
  checkRunOutput(ctx, options);
  const stays = options.wait === true || options.follow === true;
  checkOnConfirm(options, stays);
  checkLimitHasWait(options, stays, 'needs --wait or --follow');
  checkWord(conversations, word);
  const decision = decisionOf(options);
  const given = await readMessage(ctx, { argument, file: options.file });
  if (given === null && !ctx.interactive)
    throw new AppError('usage', 'no message was given', {
      hint: 'give it as an argument, with --file, or as - on stdin',
    });
  const image_urls = await readImages(ctx, options.image ?? []);
  await keepingMessage(ctx, `acs conv send ${word}`, async (typed) => {
    const text = given ?? (await writeReply(ctx, word, decision, typed));
    const onSend = () => void (typed.text = null);
    await sendText(word, { message: { text, image_urls }, decision, onSend }, options, ctx);
  });
}

/** The conversation is looked up before the editor opens: a text for none would be written in vain. */
async function writeReply(
  ctx: Context,
  word: string,
  decision: ConfirmationDecision | null,
  typed: TypedMessage,
): Promise<string> {
  const seen = await findStarted(ctx, await ctx.server(), word);
  if (decision === null) refuseWaiting(seen);
  return await writeMessage(ctx, 'What should the agent do next?', typed);
}

async function sendText(
  word: string,
  given: Pick<DeliveryOptions, 'message' | 'decision' | 'onSend'>,
  options: SendOptions,
  ctx: Context,
): Promise<void> {
  const { message, decision } = given;
  const limits = limitsOf(ctx, options);
  if (ctx.globals.mode === 'dry-run') {
    const server = await ctx.server();
    const seen = await findStarted(ctx, server, word);
    const delivery = {
      decision,
      message,
      start: () => withRunningSandbox(ctx, server, seen, { resume: options.resume, decision }),
    };
    return await planSteps(ctx, stepsOf(server, seen, delivery));
  }
  let state: Sending = 'not sent';
  const { conversation, last } = await beforeWatch(ctx, limits, word, async (timed, server, see) => {
    const found = see(await findStarted(timed, server, word));
    const onSend = () => {
      state = 'perhaps sent';
      given.onSend?.();
    };
    const delivered = await deliver(timed, server, found, { ...given, resume: options.resume, see, onSend });
    if (decision === null) await ctx.notice(`sent to conversation ${found.id}`);
    return delivered;
  }).catch((error: unknown) => {
    throw isAppError(error) && error.kind === 'timeout' ? withSending(error, state) : error;
  });
  await conclude(ctx, await ctx.server(), conversation, { ...options, ...limits, startedAfter: last, changed: true });
}

type Sending = 'not sent' | 'perhaps sent';

/** The deadline passed before the answer to the message. */
function withSending({ message, details }: AppError, state: Sending): AppError {
  const what = state === 'not sent' ? 'the message was not sent' : 'whether the message was sent is not known';
  return new AppError('timeout', `${message}; ${what}`, details);
}

export interface DeliveryOptions {
  message: OutgoingMessage;
  /** The answer to the pending action, which is sent first. */
  decision: ConfirmationDecision | null;
  resume?: boolean | undefined;
  /** Called with the conversation as it was read last. */
  see?: (conversation: Conversation) => Conversation;
  /** Called right before the first request that changes the run. */
  onSend?: () => void;
}

export interface Delivered {
  /** As it was before the message. */
  conversation: Conversation;
  /** The newest event before the message; null where there was none. */
  last: ConversationEvent | null;
}

/**
 * Sends a message, after the start of a paused sandbox.
 * @throws `needs-input` where an action is pending that is not answered, `conflict` where the sandbox does not run
 */
export async function deliver(
  ctx: Context,
  server: Server,
  found: Conversation,
  { message, decision, resume, see = (read) => read, onSend }: DeliveryOptions,
): Promise<Delivered> {
  const conversation = see(await withRunningSandbox(ctx, server, found, { resume, decision }));
  const { id } = conversation;
  const { last } = await readKnownRun(server, id);
  if (decision === null) refuseWaiting(conversation);
  onSend?.();
  if (decision === null) await server.conversations.send(id, message);
  else await answerThenSend(ctx, server, id, { decision, message });
  return { conversation, last };
}

/** The conversation with its sandbox running; a paused one is resumed with --resume or when the user agrees. */
async function withRunningSandbox(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { resume, decision }: Pick<DeliveryOptions, 'resume' | 'decision'>,
): Promise<Conversation> {
  const { id } = conversation;
  if (conversation.status === 'archived' || conversation.sandbox_status === 'missing') {
    throw new AppError('conflict', `the sandbox of conversation ${id} no longer exists, so it accepts no messages`, {
      hint: `its events are kept: acs conv events ${id}`,
    });
  }
  if (!needsResume(conversation)) return conversation;
  await refuseNeedlessStart(server, id, decision === null ? 'message' : 'answer');
  return await resumeSandbox(ctx, server, conversation, { resume, command: `acs conv send ${id} …` });
}

interface Delivery {
  decision: ConfirmationDecision | null;
  message: OutgoingMessage;
  start(): Promise<unknown>;
}

/** The same as below for a dry run, where no step sees what the one before it brings. */
function stepsOf(server: Server, seen: Conversation, { decision, message, start }: Delivery) {
  const { id } = seen;
  const startSandbox = { what: 'start its sandbox', task: start };
  const send = { what: 'send the message', task: () => server.conversations.send(id, message) };
  if (decision === null) {
    refuseWaiting(seen);
    return [startSandbox, send];
  }
  const answer = { decision, reason: null, action_id: null };
  return [
    startSandbox,
    { what: `${decision} the action`, task: () => server.conversations.answer(id, answer) },
    { ...send, task: () => server.conversations.send(id, { ...message, effect: 'store' }) },
    { what: 'continue the run', task: () => server.conversations.run(id) },
  ];
}

/**
 * After an accepted action the next one may await approval soon, and a message that starts a run would execute it:
 * the message is only stored, and the run is resumed where it is stopped and no action is pending.
 */
async function answerThenSend(
  ctx: Context,
  server: Server,
  id: string,
  { decision, message }: { decision: ConfirmationDecision; message: OutgoingMessage },
): Promise<void> {
  const answered = await server.conversations.answer(id, { decision, reason: null, action_id: null });
  await ctx.notice(`${PAST[decision]}: ${answered[0]?.text ?? ''}`);
  await untilAnswered(ctx, server, id, answered);
  await server.conversations.send(id, { ...message, effect: 'store' });
  // Printed before the run is resumed, which exits 8 when the next action awaits approval already.
  await ctx.notice(`sent to conversation ${id}`);
  await server.conversations.run(id);
}

/**
 * Waits until what was answered waits no more: a message before that would still count as an answer.
 * Throws `needs-input` when the next action waits by then.
 */
async function untilAnswered(
  ctx: Context,
  server: Server,
  id: string,
  answered: readonly PendingAction[],
): Promise<void> {
  const ids = new Set(answered.map((action) => action.action_id));
  const isAnswered = async (): Promise<true | undefined> => {
    const pending = await server.conversations.pending(id);
    if (pending.length === 0) return true;
    if (pending.every((action) => !ids.has(action.action_id))) throw nextWaits(id, pending);
    return undefined;
  };
  const { clock, signal } = ctx;
  if (await poll(isAnswered, { clock, signal, every: QUICK, until: clock.now() + SETTLE_MS })) return;
  throw new AppError('timeout', `the answer was sent, but conversation ${id} still waits for a confirmation`, {
    hint: `see where it stands: acs conv confirm ${id}`,
  });
}

function nextWaits(id: string, pending: readonly PendingAction[]): AppError {
  return new AppError(
    'needs-input',
    `the action was answered, and another action is pending: ${pending[0]?.text ?? ''}`,
    {
      hint: `the message was not sent; see the action: acs conv confirm ${id}`,
      data: { id, waiting_for: 'confirmation', pending: pending.map((action) => action.action_id) },
    },
  );
}
