import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES, isAppError } from '../../base/errors.ts';
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
import { checkWord } from '../shared/resource.ts';
import { conversations, findStarted } from './conversations.ts';
import { needsResume, resumeSandbox, resumeSandboxNow } from './resume-sandbox.ts';

interface Confirmation extends PendingAction {
  conversation_id: string;
  /** Null while it is pending. */
  answer: 'accepted' | 'rejected' | null;
  /**
   * What is pending besides, and gets the same answer: an agent may call several tools in one step.
   */
  others: PendingAction[];
}

const PENDING = ['action_id', 'kind', 'text', 'risk'];

export const confirmationView: View<Confirmation> = {
  noun: 'confirmation',
  id: (it) => it.action_id,
  fields: [
    { name: 'conversation_id', get: (it) => it.conversation_id, as: 'id' },
    { name: 'action_id', get: (it) => it.action_id, as: 'id', weight: 0 },
    { name: 'kind', get: (it) => it.kind, weight: 0 },
    { name: 'text', get: (it) => it.text, weight: 0 },
    { name: 'risk', get: (it) => it.risk, weight: 0 },
    { name: 'answer', get: (it) => it.answer, weight: 0 },
    { name: 'others', get: (it) => it.others, as: 'json', json: { list: true, members: PENDING } },
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
    examples: [
      { command: 'acs conv confirm @last', does: 'show the pending action and ask' },
      {
        command: "acs conv confirm @last --reject --reason 'Not on main'",
        does: 'reject it with a reason',
      },
    ],
  });
  command.action((id: string, options: ConfirmOptions) => confirm(id, options, ctx));
}

async function confirm(word: string, options: ConfirmOptions, ctx: Context): Promise<void> {
  ctx.out.check(confirmationView, 'item');
  checkWord(conversations, word);
  const decision = decisionOf(options);
  const { reason = null, action = null, resume } = options;
  if (reason !== null && decision !== 'reject')
    throw new AppError('usage', '--reason needs --reject');
  const server = await ctx.servers.active();
  let seen = await findStarted(ctx, server, word);
  const { id } = seen;
  let reply: ConfirmationAnswer;
  if (decision !== null) reply = { decision, reason, action_id: action };
  else {
    if (resume && needsResume(seen)) {
      refuseEnded(await server.conversations.getComplete(id));
      seen = await resumeSandboxNow(ctx, server, seen);
    }
    const pending = await server.conversations.pending(id, 'read-copy');
    const shown = confirmationOf(id, pending, null);
    if (action !== null && !pending.some(({ action_id }) => action_id === action))
      throw new AppError(
        'conflict',
        `another action is pending: ${shown.action_id}, not ${action}`,
        {
          data: { pending: pending.map(({ action_id }) => action_id) },
        },
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
  const answered = await answerPending(ctx, server, seen, reply, resume);
  await ctx.out.item(confirmationView, confirmationOf(id, answered, PAST[reply.decision]), {
    changed: true,
  });
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
  seen: Conversation,
  reply: ConfirmationAnswer,
  resume: boolean | undefined,
): Promise<PendingAction[]> {
  const { id } = seen;
  if (needsResume(seen)) {
    await server.conversations.checkAnswer(id, reply);
    refuseEnded(await server.conversations.getComplete(id));
    await resumeSandbox(ctx, server, seen, {
      resume,
      command: `acs conv confirm ${id} --${reply.decision}`,
    });
  }
  return await server.conversations.answer(id, reply);
}

/** Throws `usage` for both. */
export function decisionOf({
  accept,
  reject,
}: {
  accept?: boolean;
  reject?: boolean;
}): ConfirmationDecision | null {
  if (accept && reject) throw new AppError('usage', '--accept and --reject cannot be combined');
  return accept ? 'accept' : reject ? 'reject' : null;
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

/**
 * Prints the pending actions and prompts for the answer. Rejects with the reason of `until` when
 * that aborts.
 */
export async function askApproval(
  ctx: Context,
  server: Server,
  id: string,
  pending: readonly PendingAction[],
  until?: AbortSignal,
): Promise<Reply> {
  await showPending(ctx, pending);
  const prompt = await ctx.terminal.prompt();
  const open = until === undefined ? {} : { until };
  const message = pending.length === 1 ? 'Accept this action?' : 'Accept all of these actions?';
  const decision = (await prompt.confirm({ message, default: 'none', ...open }))
    ? 'accept'
    : 'reject';
  if (decision === 'accept' || !(await takesReason(server, id))) return { decision, reason: null };
  const reason = await prompt.input({ message: 'Reason for the agent (optional):', ...open });
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
    if (!isAppError(error) || error.kind !== 'unsupported') throw error;
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
  {
    onConfirm = 'ask',
    progress,
    ask = (pending, until) => askApproval(ctx, server, id, pending, until),
  }: AnswererOptions,
): Answerer | undefined {
  if (onConfirm === 'exit' || (onConfirm === 'ask' && !ctx.terminal.interactive)) return undefined;
  const answered = new Set<string>();
  const closed = new AbortController();
  const closedError = new AppError('interrupted', 'the question was answered elsewhere');
  /** Closes an open question whose actions are no longer pending; null while none is open. */
  let recheck: (() => Promise<void>) | null = null;

  /** `out-of-reach`: the sandbox does not run, so what is pending in it cannot be answered. */
  const pendingNow = async (): Promise<PendingAction[] | 'out-of-reach'> => {
    try {
      return await server.conversations.pending(id);
    } catch (error) {
      if (isAppError(error) && error.kind === 'conflict') return 'out-of-reach';
      throw error;
    }
  };

  const decide = async (
    pending: readonly PendingAction[],
  ): Promise<Reply | 'elsewhere' | 'out-of-reach'> => {
    if (onConfirm !== 'ask') return { decision: onConfirm, reason: null };
    const ids = new Set(pending.map(({ action_id }) => action_id));
    const needless = new AbortController();
    const over = new AbortController();
    let why: 'elsewhere' | 'out-of-reach' = 'elsewhere';
    const look = async (): Promise<true | undefined> => {
      const now = await pendingNow();
      if (now === 'out-of-reach') why = now;
      else if (now.some(({ action_id }) => ids.has(action_id))) return undefined;
      needless.abort(closedError);
      return true;
    };
    progress?.hide();
    const asked = ask(pending, AbortSignal.any([needless.signal, closed.signal]));
    // A read that fails leaves the question open; the tracker reports the failure.
    const signal = AbortSignal.any([over.signal, ctx.signal]);
    const looking = poll(look, { clock: ctx.clock, signal, every: STEADY, readBefore: true }).catch(
      () => undefined,
    );
    recheck = async () => {
      await look().catch(() => undefined);
      if (needless.signal.aborted) await asked.catch(() => undefined);
    };
    try {
      return await asked;
    } catch (error) {
      if (needless.signal.aborted) return why;
      throw error;
    } finally {
      recheck = null;
      over.abort();
      await looking;
      progress?.show();
    }
  };

  return {
    close: () => closed.abort(closedError),
    onHappened: async () => await recheck?.(),
    async onWaiting() {
      const now = await pendingNow();
      if (now === 'out-of-reach') return 'left';
      const pending = now.filter(({ action_id }) => !answered.has(action_id));
      const [first] = pending;
      // An answered action may stay pending for a moment.
      if (first === undefined) return 'answered';
      const reply = await decide(pending);
      if (reply === 'out-of-reach') return 'left';
      for (const { action_id } of pending) answered.add(action_id);
      let how: string = 'answered elsewhere';
      if (reply !== 'elsewhere') {
        try {
          await server.conversations.answer(id, { ...reply, action_id: first.action_id });
          how = PAST[reply.decision];
        } catch (error) {
          if (!isAppError(error) || error.kind !== 'conflict') throw error;
          const left = await pendingNow();
          if (
            left !== 'out-of-reach' &&
            left.some(({ action_id }) => action_id === first.action_id)
          )
            throw error;
        }
      }
      await ctx.notice(`${how}: ${first.text.split('\n', 1)[0] ?? ''}`);
      return 'answered';
    },
  };
}
