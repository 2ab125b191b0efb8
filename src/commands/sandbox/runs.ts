/** What sandboxes are busy with: the runs of their conversations, which the sandbox record does not tell. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { isRunInProgress, isSelected, type Selection } from '../../domain/selectors.ts';
import type { Server } from '../../servers/server.ts';
import { collectList } from '../paging.ts';
import { asksForRuns } from '../selectors.ts';

/** Conversations of one sandbox whose run is in progress. */
export async function runsIn(ctx: Context, server: Server, sandboxId: string): Promise<Conversation[]> {
  const conversations = await conversationsOf(ctx, server, sandboxId);
  return conversations.filter((conversation) => conversation.sandbox_id === sandboxId && isRunInProgress(conversation));
}

/** A test for sandboxes; reads all conversations first when a condition asks for runs. */
export async function sandboxTest(
  ctx: Context,
  server: Server,
  selection: Selection | null,
): Promise<((sandbox: Sandbox) => boolean) | undefined> {
  if (selection === null) return undefined;
  const busy = asksForRuns(selection) ? await sandboxesWithRuns(ctx, server) : null;
  const nowMs = ctx.clock.now();
  return (sandbox) => isSandboxSelected(sandbox, busy ? busy.has(sandbox.id) : null, selection, nowMs);
}

/** @param running whether a run is in progress in it; null when that was not asked for */
export function isSandboxSelected(
  sandbox: Sandbox,
  running: boolean | null,
  selection: Selection,
  nowMs: number,
): boolean {
  const { status, created_at, last_active_at, spec_id, repositories } = sandbox;
  return isSelected(
    { status, created_at, updated_at: last_active_at, running, spec_id, repositories },
    selection,
    nowMs,
  );
}

async function sandboxesWithRuns(ctx: Context, server: Server): Promise<Set<string>> {
  const conversations = await conversationsOf(ctx, server);
  const running = conversations.filter(isRunInProgress);
  return new Set(running.flatMap(({ sandbox_id }) => sandbox_id ?? []));
}

async function conversationsOf(ctx: Context, server: Server, sandboxId?: string): Promise<Conversation[]> {
  const { items } = await collectList({
    fetch: (page, pageSize) =>
      server.conversations.list({ pageSize, ...(sandboxId === undefined ? {} : { sandboxId }) }, page),
    id: (conversation) => conversation.id,
    limit: Number.POSITIVE_INFINITY,
    signal: ctx.signal,
  });
  return items;
}
