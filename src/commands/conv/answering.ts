/** `--on-confirm`: what a command that follows a run does about a pending action. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import { oneOf } from '../option-parsers.ts';
import { askDecision, PAST } from './confirmation.ts';
import type { Answerer } from '../../runs/tracker.ts';
import type { Progress } from '../../terminal/progress.ts';

export type OnConfirm = 'ask' | 'accept' | 'reject' | 'exit';

export interface OnConfirmOptions {
  onConfirm?: OnConfirm;
}

export function addOnConfirm(command: Command): Command {
  return command.option(
    '--on-confirm <what>',
    'when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)',
    oneOf('ask', 'accept', 'reject', 'exit'),
  );
}

/** Throws `usage`: a command that returns at once sees no confirmation. */
export function checkOnConfirm({ onConfirm }: OnConfirmOptions, stays: boolean): void {
  if (onConfirm === undefined || stays) return;
  throw new AppError('usage', '--on-confirm needs --wait or --follow');
}

/** The answer of a person; null leaves the actions pending. */
export type Reply = { decision: ConfirmationDecision; reason: string | null } | null;

/** Prompts for the answer to pending actions; rejects with the reason of `until` when that aborts. */
export type Ask = (pending: readonly PendingAction[], until: AbortSignal) => Promise<Reply>;

export interface AnswererOptions extends OnConfirmOptions {
  /** The prompt; without it, a list of answers. */
  ask?: Ask;
  /** Hidden while the question is shown: it would write over it. */
  progress?: Pick<Progress, 'hide' | 'show'>;
}

/** Undefined where a confirmation ends the wait. Off a terminal there are no prompts. */
export function answerer(
  ctx: Context,
  server: Server,
  id: string,
  { onConfirm, progress, ask = askFromList(ctx) }: AnswererOptions,
): Answerer | undefined {
  const mode = onConfirm ?? 'ask';
  if (mode === 'exit' || (mode === 'ask' && !ctx.interactive)) return undefined;
  const done = new Set<string>();
  const closed = new AbortController();
  const question: OpenQuestion = { look: null };
  const decide = async (pending: readonly PendingAction[]): Promise<Decision> => {
    if (mode !== 'ask') return { decision: mode, reason: null };
    progress?.hide();
    try {
      return await askUntilElsewhere(ctx, server, id, { pending, closed: closed.signal, question, ask });
    } finally {
      progress?.show();
    }
  };
  return {
    close: () => closed.abort(closedError()),
    onHappened: async () => await question.look?.(),
    async onWaiting() {
      const now = await pendingNow(server, id);
      if (now === 'out-of-reach') return 'left';
      const pending = now.filter(({ action_id }) => !done.has(action_id));
      const [first] = pending;
      // What was answered may show as waiting for a moment.
      if (first === undefined) return 'answered';
      const decision = await decide(pending);
      if (decision === null || decision === 'out-of-reach') return 'left';
      for (const { action_id } of pending) done.add(action_id);
      const text = first.text.split('\n', 1)[0] ?? '';
      const answered = decision !== 'elsewhere' && (await sendAnswer(server, id, decision, first.action_id));
      await ctx.notice(answered ? `${PAST[decision.decision]}: ${text}` : `answered elsewhere: ${text}`);
      return 'answered';
    },
  };
}

function askFromList(ctx: Context): Ask {
  return async (pending, until) => {
    const decision = await askDecision(ctx, pending, until);
    return decision && { decision, reason: null };
  };
}

/** False when another client has answered first. Throws `conflict` when the action still waits after the answer. */
async function sendAnswer(server: Server, id: string, reply: NonNullable<Reply>, action_id: string): Promise<boolean> {
  try {
    await server.conversations.answer(id, { ...reply, action_id });
    return true;
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'conflict') throw error;
    const now = await pendingNow(server, id);
    if (now !== 'out-of-reach' && now.some((action) => action.action_id === action_id)) throw error;
    return false;
  }
}

/** `out-of-reach`: the sandbox does not run, so whatever waits in it cannot be answered. */
async function pendingNow(server: Server, id: string): Promise<PendingAction[] | 'out-of-reach'> {
  try {
    return await server.conversations.pending(id);
  } catch (error) {
    if (isAppError(error) && error.kind === 'conflict') return 'out-of-reach';
    throw error;
  }
}

/** `elsewhere`: it was answered by another client. */
type Decision = Reply | 'elsewhere' | 'out-of-reach';

interface OpenQuestion {
  /** Looks whether it is needless by now, and comes back when it has closed for that; null while none is open. */
  look: (() => Promise<void>) | null;
}

/** The question closes when what it is about no longer waits. */
async function askUntilElsewhere(
  ctx: Context,
  server: Server,
  id: string,
  {
    pending,
    closed,
    question,
    ask,
  }: { pending: readonly PendingAction[]; closed: AbortSignal; question: OpenQuestion; ask: Ask },
): Promise<Decision> {
  const ids = new Set(pending.map(({ action_id }) => action_id));
  const needless = new AbortController();
  let why: 'elsewhere' | 'out-of-reach' = 'elsewhere';
  const over = new AbortController();
  const lookOnce = async (): Promise<void> => {
    const now = await pendingNow(server, id);
    if (now === 'out-of-reach') why = now;
    else if (now.some(({ action_id }) => ids.has(action_id))) return;
    needless.abort(closedError());
  };
  const isNeedless = async (): Promise<true | undefined> => {
    await lookOnce();
    return needless.signal.aborted || undefined;
  };
  // A read that fails leaves the question open; the tracker reports the failure.
  const signal = AbortSignal.any([over.signal, ctx.signal]);
  const looking = poll(isNeedless, { clock: ctx.clock, signal, every: STEADY, readBefore: true }).catch(
    () => undefined,
  );
  const asked = ask(pending, AbortSignal.any([needless.signal, closed]));
  question.look = async () => {
    await lookOnce().catch(() => undefined);
    if (needless.signal.aborted) await asked.catch(() => undefined);
  };
  try {
    return await asked;
  } catch (error) {
    if (needless.signal.aborted) return why;
    throw error;
  } finally {
    question.look = null;
    over.abort();
    await looking;
  }
}

function closedError(): AppError {
  return new AppError('interrupted', 'the question was answered elsewhere');
}
