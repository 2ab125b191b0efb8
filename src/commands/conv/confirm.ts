import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES, isOfKind, nullIf } from '../../base/errors.ts';
import type { ConfirmationAnswer, Server } from '../../client/shared/server.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { View } from '../../output/view.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { hasEnded } from '../../runs/status.ts';
import type { Answerer } from '../../runs/tracker.ts';
import type { Progress } from '../../terminal/progress.ts';
import { explain } from '../shared/declare.ts';
import { oneOf } from '../shared/option-parsers.ts';
import { openConversation } from './find-conversation.ts';
import { FOLLOW, SEND, showNext } from './end-of-run.ts';
import { needsResume, resumeSandbox, resumeSandboxNow } from './resume-sandbox.ts';

interface Confirmation extends PendingAction {
  conversation_id: string;
  /** Null while it is pending. */
  answer: 'accepted' | 'rejected' | null;
  /** What else is pending gets the same answer: an agent may call several tools in one step. */
  others: PendingAction[];
}

const PENDING = ['action_id', 'kind', 'text', 'risk'];

export const confirmationView: View<Confirmation> = {
  noun: 'confirmation',
  id: (it) => it.action_id,
  fields: [
    { name: 'conversation_id', as: 'id' },
    { name: 'action_id', as: 'id', weight: 0 },
    { name: 'kind', weight: 0 },
    { name: 'text', weight: 0 },
    { name: 'risk', weight: 0 },
    { name: 'answer', weight: 0 },
    { name: 'others', as: 'json', json: { list: true, members: PENDING } },
  ],
  table: [...PENDING, 'answer', 'others'],
  tsv: [...PENDING, 'answer', 'conversation_id', 'others'],
};

export const PAST = { accept: 'accepted', reject: 'rejected' } as const;

interface ConfirmOptions {
  accept?: boolean;
  reject?: boolean;
  reason?: string;
  action?: string;
  resume?: boolean;
}

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .option('--accept', 'accept the pending action')
    .option('--reject', 'reject it; the agent then waits for a message')
    .option('--reason <text>', 'the reason, which is sent to the agent')
    .option('--action <id>', 'answer only this action')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Without --accept or --reject acs asks for the answer on a terminal: y, yes, n or no. ' +
        'Outside a terminal the action is printed and the exit code is 8; -y does not answer ' +
        'it.',
      'With --action <id> the exit code is 6 when another action, or none, awaits approval. ' +
        'The risk is low, medium, high or unknown.',
    ],
    json: ({ objectForm }) => [objectForm(confirmationView, 'changed')],
    exits: ['not-found', 'conflict', 'needs-input', 'unknown-outcome', 'unsupported'],
    examples: {
      'acs conv confirm @last': 'show the pending action and ask',
      "acs conv confirm @last --reject --reason 'Not on main'": 'reject it with a reason',
    },
  });
  command.action((id: string, options: ConfirmOptions) => confirm(id, options, ctx));
}

async function confirm(word: string, options: ConfirmOptions, ctx: Context): Promise<void> {
  ctx.out.check(confirmationView, 'item');
  const decision = decisionOf(options);
  const { reason = null, action = null, resume } = options;
  if (reason !== null && decision !== 'reject')
    throw new AppError('usage', '--reason needs --reject');
  const { server, ...opened } = await openConversation(ctx, word);
  let { conversation } = opened;
  const { id } = conversation;
  let reply: ConfirmationAnswer;
  if (decision !== null) reply = { decision, reason, action_id: action };
  else {
    if (resume && needsResume(conversation)) {
      refuseEnded(await server.conversations.getComplete(conversation));
      conversation = await resumeSandboxNow(ctx, server, conversation);
    }
    const pending = await server.conversations.pending(id, 'read-copy');
    const shown = confirmationOf(id, pending, null);
    const action_ids = pending.map(({ action_id }) => action_id);
    if (action !== null && !action_ids.includes(action))
      throw new AppError(
        'conflict',
        `another action is pending: ${shown.action_id}, not ${action}`,
        { data: { pending: action_ids } },
      );
    if (!ctx.terminal.interactive || ctx.globals.mode === 'dry-run') {
      ctx.exitCode = EXIT_CODES['needs-input'];
      await ctx.out.item(confirmationView, shown, { changed: false });
      return await ctx.notice(
        `the action is pending; answer it: acs conv confirm ${id} --action ` +
          `${shown.action_id} --accept or --reject`,
      );
    }
    reply = { ...(await askApproval(ctx, server, id, pending)), action_id: shown.action_id };
  }
  const answered = await answerPending(ctx, server, conversation, reply, resume);
  const confirmation = confirmationOf(id, answered, PAST[reply.decision]);
  const [first = ''] = confirmation.text.split('\n', 1);
  const line = `${PAST[reply.decision]}: ${first}`;
  await ctx.out.change(confirmationView, confirmation, true, line);
  await showNext(ctx, conversation, reply.decision === 'accept' ? FOLLOW : SEND);
}

function confirmationOf(
  conversation_id: string,
  [first, ...others]: readonly PendingAction[],
  answer: Confirmation['answer'],
): Confirmation {
  if (first === undefined) throw nothingPending(conversation_id);
  return { conversation_id, ...first, answer, others };
}

function nothingPending(id: string): AppError {
  return new AppError('conflict', `conversation ${id} has no pending confirmation`, {
    hint: `see its status: acs conv show ${id}`,
    data: { id, pending: [] },
  });
}

/** Before a sandbox is started for an answer. Throws `conflict` when its run has ended. */
export function refuseEnded({ id, status, may_recover }: Conversation): void {
  if (hasEnded(status) && !may_recover) throw nothingPending(id);
}

export async function answerPending(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  reply: ConfirmationAnswer,
  resume: boolean | undefined,
): Promise<PendingAction[]> {
  const { id } = conversation;
  if (needsResume(conversation)) {
    await server.conversations.checkAnswer(id, reply);
    refuseEnded(await server.conversations.getComplete(id));
    const command = `acs conv confirm ${id} --${reply.decision}`;
    await resumeSandbox(ctx, server, conversation, { resume, command });
  }
  return await server.conversations.answer(id, reply);
}

/** Throws `usage` for both. */
export function decisionOf({
  accept,
  reject,
}: Pick<ConfirmOptions, 'accept' | 'reject'>): ConfirmationDecision | null {
  if (accept && reject) throw new AppError('usage', '--accept and --reject cannot be combined');
  if (reject) return 'reject';
  return accept ? 'accept' : null;
}

export type Reply = Pick<ConfirmationAnswer, 'decision' | 'reason'>;

export async function showPending(ctx: Context, pending: readonly PendingAction[]): Promise<void> {
  const title =
    pending.length === 1
      ? 'an action awaits approval:'
      : `${pending.length} actions await approval:`;
  await ctx.notice(title, 'question');
  for (const { kind, risk, text } of pending)
    await ctx.notice(`${kind}, risk ${risk}:\n${text}`, 'question');
}

/** Prints the pending actions and prompts for the answer. Rejects with the reason of `until`. */
async function askApproval(
  ctx: Context,
  server: Server,
  id: string,
  pending: readonly PendingAction[],
  until?: AbortSignal,
): Promise<Reply> {
  await showPending(ctx, pending);
  const prompt = await ctx.terminal.prompt();
  const message = pending.length === 1 ? 'Accept this action?' : 'Accept all of these actions?';
  const decision = (await prompt.confirm({ message, default: 'none', until }))
    ? 'accept'
    : 'reject';
  if (decision === 'accept' || !(await takesReason(server, id))) return { decision, reason: null };
  const reason = await prompt.input({ message: 'Reason for the agent (optional):', until });
  return { decision, reason: reason.trim() || null };
}

export async function takesReason(server: Server, id: string): Promise<boolean> {
  try {
    await server.conversations.checkAnswer(id, {
      decision: 'reject',
      reason: 'a reason',
      action_id: null,
    });
    return true;
  } catch (error) {
    if (!isOfKind('unsupported')(error)) throw error;
    return false;
  }
}

export interface OnConfirmOptions {
  onConfirm?: 'ask' | 'accept' | 'reject' | 'exit';
}

export function addOnConfirm(command: Command): Command {
  return command.option(
    '--on-confirm <what>',
    'for a confirmation: ask, accept, reject, exit (8)',
    oneOf('ask', 'accept', 'reject', 'exit'),
  );
}

/** Throws `usage`: a command that returns at once sees no confirmation. */
export function checkOnConfirm({ onConfirm }: OnConfirmOptions, stays: boolean): void {
  if (onConfirm !== undefined && !stays)
    throw new AppError('usage', '--on-confirm needs --wait or --follow');
}

export interface AnswererOptions extends OnConfirmOptions {
  /** Prompts for the answer; rejects with the reason of `until` when that aborts. */
  ask?: (pending: readonly PendingAction[], until: AbortSignal) => Promise<Reply>;
  progress?: Pick<Progress, 'hide' | 'show'>;
}

/** Undefined where a confirmation ends the wait. Outside a terminal there are no prompts. */
export function answerer(
  ctx: Context,
  server: Server,
  id: string,
  options: AnswererOptions,
): Answerer | undefined {
  const { onConfirm = 'ask' } = options;
  if (onConfirm === 'exit' || (onConfirm === 'ask' && !ctx.terminal.interactive)) return undefined;
  return new RunAnswerer(ctx, server, id, { ...options, onConfirm });
}

class RunAnswerer implements Answerer {
  private readonly ctx: Context;
  private readonly server: Server;
  private readonly id: string;
  private readonly options: AnswererOptions & { onConfirm: 'ask' | ConfirmationDecision };
  private readonly answeredIds = new Set<string>();
  private readonly closed = new AbortController();
  private readonly answeredElsewhere = new AppError(
    'interrupted',
    'the question was answered elsewhere',
  );
  /** Closes an open question whose actions are no longer pending; null while none is open. */
  private recheck: (() => Promise<void>) | null = null;

  constructor(ctx: Context, server: Server, id: string, options: RunAnswerer['options']) {
    this.ctx = ctx;
    this.server = server;
    this.id = id;
    this.options = options;
  }

  close(): void {
    this.closed.abort(this.answeredElsewhere);
  }

  async onHappened(): Promise<void> {
    await this.recheck?.();
  }

  async onWaiting(): Promise<'answered' | 'left'> {
    const { onConfirm } = this.options;
    // An answered action may stay pending for a moment.
    const pending = (await this.pending())?.filter((one) => !this.answeredIds.has(one.action_id));
    if (pending === undefined) return 'left';
    const [first] = pending;
    if (first === undefined) return 'answered';
    const reply =
      onConfirm === 'ask' ? await this.ask(pending) : { decision: onConfirm, reason: null };
    if (reply === 'out-of-reach') return 'left';
    for (const { action_id } of pending) this.answeredIds.add(action_id);
    const isSent = reply !== 'elsewhere' && (await this.send(reply, first.action_id));
    const answer = isSent ? PAST[reply.decision] : 'answered elsewhere';
    await this.ctx.notice(`${answer}: ${first.text.split('\n', 1)[0] ?? ''}`);
    return 'answered';
  }

  /** Null: the sandbox does not run, so what is pending in it cannot be answered. */
  private async pending(): Promise<PendingAction[] | null> {
    return await this.server.conversations.pending(this.id).catch(nullIf(isOfKind('conflict')));
  }

  /** False: the action was answered elsewhere. */
  private async send(reply: Reply, action_id: string): Promise<boolean> {
    try {
      await this.server.conversations.answer(this.id, { ...reply, action_id });
      return true;
    } catch (error) {
      if (!isOfKind('conflict')(error)) throw error;
      if ((await this.pending())?.some((one) => one.action_id === action_id)) throw error;
      return false;
    }
  }

  /** The question closes when none of its actions is pending any longer. */
  private async ask(
    pending: readonly PendingAction[],
  ): Promise<Reply | 'elsewhere' | 'out-of-reach'> {
    const { ctx, server, id, closed } = this;
    const { progress, ask = (actions, until) => askApproval(ctx, server, id, actions, until) } =
      this.options;
    const ids = new Set(pending.map(({ action_id }) => action_id));
    const needless = new AbortController();
    const replied = new AbortController();
    let why: 'elsewhere' | 'out-of-reach' = 'elsewhere';
    const check = async (): Promise<true | undefined> => {
      const now = await this.pending();
      if (now?.some(({ action_id }) => ids.has(action_id))) return undefined;
      if (now === null) why = 'out-of-reach';
      needless.abort(this.answeredElsewhere);
      return true;
    };
    progress?.hide();
    const reply = ask(pending, AbortSignal.any([needless.signal, closed.signal]));
    const signal = AbortSignal.any([replied.signal, ctx.signal]);
    // A read that fails leaves the question open; the tracker reports the failure.
    const checks = poll(check, { clock: ctx.clock, signal, every: STEADY, readBefore: true }).catch(
      () => undefined,
    );
    this.recheck = async () => {
      await check().catch(() => undefined);
      if (needless.signal.aborted) await reply.catch(() => undefined);
    };
    try {
      return await reply;
    } catch (error) {
      if (needless.signal.aborted) return why;
      throw error;
    } finally {
      this.recheck = null;
      replied.abort();
      await checks;
      progress?.show();
    }
  }
}
