/** What sandboxes are busy with: the runs of their conversations, which the sandbox record does not tell. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { isRunInProgress, isSelected, type Selection } from '../../domain/selectors.ts';
import { isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { collectList } from '../paging.ts';
import { asksForRuns } from '../selectors.ts';

/** Conversations of one sandbox whose run is in progress. */
export async function runsIn(ctx: Context, server: Server, sandboxId: string): Promise<Conversation[]> {
  const conversations = await conversationsOf(ctx, server, sandboxId);
  return await inProgress(
    server,
    conversations.filter((conversation) => conversation.sandbox_id === sandboxId),
  );
}

/** A list may call everything running whose sandbox is up (V0 tells no more): those are looked at once more. */
async function inProgress(server: Server, conversations: readonly Conversation[]): Promise<Conversation[]> {
  const maybe = conversations.filter(({ sandbox_id, status }) => sandbox_id !== null && isRunInProgress(status));
  const seen = await Promise.all(maybe.map((listed) => lookedAt(server, listed)));
  return seen.flatMap((conversation) => (conversation && isRunInProgress(conversation.status) ? [conversation] : []));
}

/** Null when it was deleted meanwhile. */
async function lookedAt(server: Server, listed: Conversation): Promise<Conversation | null> {
  if (listed.execution_status !== null) return listed;
  try {
    return await server.conversations.get(listed.id);
  } catch (error) {
    if (isAppError(error) && error.kind === 'not-found') return null;
    throw error;
  }
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
  const running = await inProgress(server, conversations);
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
