/** Selectors applied to conversations. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { isRunInProgress, isSelected, type Selection } from '../../domain/selectors.ts';
import type { Server } from '../../servers/server.ts';
import { collectList } from '../paging.ts';

/** A test for conversations; reads the sandboxes first when a condition asks for the spec they were made from. */
export async function conversationTest(
  ctx: Context,
  server: Server,
  selection: Selection | null,
): Promise<((conversation: Conversation) => boolean) | undefined> {
  if (selection === null) return undefined;
  const specs = selection.spec || selection.notSpec ? await specsBySandbox(ctx, server) : null;
  const nowMs = ctx.clock.now();
  return (conversation) =>
    isSelected(
      {
        status: conversation.status,
        created_at: conversation.created_at,
        updated_at: conversation.updated_at,
        running: isRunInProgress(conversation),
        spec_id: specs?.get(conversation.sandbox_id ?? '') ?? null,
        repositories: conversation.repository === null ? [] : [conversation.repository],
      },
      selection,
      nowMs,
    );
}

async function specsBySandbox(ctx: Context, server: Server): Promise<Map<string, string | null>> {
  const { items } = await collectList({
    fetch: (page, pageSize) => server.sandboxes.list(page, pageSize),
    id: (sandbox) => sandbox.id,
    limit: Number.POSITIVE_INFINITY,
    signal: ctx.signal,
  });
  return new Map(items.map(({ id, spec_id }) => [id, spec_id]));
}
