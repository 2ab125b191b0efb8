/** Confirmations: printing them, the prompt, and the answer. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import { AppError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { hasEnded } from '../../runs/status.ts';
import type { Server } from '../../servers/server.ts';

export interface Confirmation extends PendingAction {
  conversation_id: string;
  /** Null while it waits. */
  answer: 'accepted' | 'rejected' | null;
  /** What waits besides, and gets the same answer: an agent may call several tools in one step. */
  others: PendingAction[];
}

const ACTION_MEMBERS = ['action_id', 'kind', 'text', 'risk'];

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
    { name: 'others', get: (it) => it.others, as: 'json', json: { list: true, members: ACTION_MEMBERS } },
  ],
  table: ['action_id', 'kind', 'text', 'risk', 'answer', 'others'],
  tsv: ['action_id', 'kind', 'text', 'risk', 'answer', 'conversation_id', 'others'],
};

/** Throws `conflict` when nothing waits. */
export function confirmationOf(
  conversationId: string,
  pending: readonly PendingAction[],
  answer: Confirmation['answer'],
): Confirmation {
  const [first, ...others] = pending;
  if (first === undefined) throw nothingWaits(conversationId);
  return { conversation_id: conversationId, ...first, answer, others };
}

function nothingWaits(id: string): AppError {
  return new AppError('conflict', `conversation ${id} has no pending confirmation`, {
    hint: `see its status: acs conv show ${id}`,
    data: { id, pending: [] },
  });
}

/** Throws `needs-input` for a message that would carry the pending action out. */
export function refuseWaiting({ id, status, sandbox_status }: Conversation): void {
  if (status !== 'waiting') return;
  const flags = sandbox_status === 'paused' ? '--resume and --accept or --reject' : '--accept or --reject';
  throw new AppError(
    'needs-input',
    `conversation ${id} waits for a confirmation: a message would make the server run the pending action`,
    {
      hint: `see the action: acs conv confirm ${id}; answer it in this command with ${flags}`,
      data: { id, waiting_for: 'confirmation' },
    },
  );
}

/**
 * Before a sandbox is started for a message or for the answer to a pending action: throws where the last state of the
 * run shows that the command would be refused afterwards.
 */
export async function refuseNeedlessStart(server: Server, id: string, purpose: 'message' | 'answer'): Promise<void> {
  const record = await server.conversations.getComplete(id);
  if (purpose === 'message') return refuseWaiting(record);
  if (hasEnded(record.status) && !record.may_recover) throw nothingWaits(id);
}

export const PAST = { accept: 'accepted', reject: 'rejected' } as const;

/** Prints each action as a whole. */
export async function showPending(ctx: Context, pending: readonly PendingAction[]): Promise<void> {
  await ctx.notice(pending.length === 1 ? 'an action awaits approval:' : `${pending.length} actions await approval:`);
  for (const { kind, risk, text } of pending) await ctx.notice(`${kind}, risk ${risk}:\n${text}`);
}

/** Prints the whole action, then prompts. Null: neither yes nor no, the action stays pending. */
export async function askDecision(
  ctx: Context,
  pending: readonly PendingAction[],
  until?: AbortSignal,
): Promise<ConfirmationDecision | null> {
  await showPending(ctx, pending);
  const prompt = await ctx.prompt();
  const chosen = await prompt.select({
    message: pending.length === 1 ? 'Accept this action?' : 'Accept all of these actions?',
    choices: [
      { value: 'accept', name: 'accept' },
      { value: 'reject', name: 'reject' },
      { value: 'leave', name: 'decide later' },
    ],
    default: 'leave',
    ...(until === undefined ? {} : { until }),
  });
  return chosen === 'leave' ? null : chosen;
}
