/** Conversations as a resource of the generic verbs. */
import { blankConversation, type Conversation } from '../../domain/conversation.ts';
import { readConversationWord } from '../../domain/ids.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { isSelected } from '../../domain/selectors.ts';
import { isRunInProgress } from '../../runs/status.ts';
import type { Server } from '../../servers/server.ts';
import type { Resource } from '../resource/resource.ts';
import { conversationView } from './view.ts';

export const conversations: Resource<Conversation> = {
  noun: 'conversation',
  plural: 'conversations',
  command: 'conv',
  view: conversationView,
  readWord: readConversationWord,
  // A conversation that is still being started has only its start task.
  idsOf: ({ id, start_task_id }) => [id, start_task_id ?? ''],
  ofLast: async (server, id) => await server.conversations.get(id),
  get: async (server, id) => await server.conversations.get(id),
  list: async (server, page, pageSize) => await server.conversations.list({ pageSize, omissions: 'say' }, page),
  async selector(ctx, server, selection) {
    const specs = selection.spec || selection.notSpec ? await specsBySandbox(server) : null;
    const nowMs = ctx.clock.now();
    const matches = (conversation: Conversation): boolean =>
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
    // The spec of a sandbox does not change.
    return { matches, stillMatches: (conversation) => Promise.resolve(matches(conversation)) };
  },
  gone: (word) => blankConversation(word, 'deleted'),
  preview: (targets) => ({
    preview: targets.map(({ id, profile, seen }) => conversationLine({ ...seen, id }, profile)),
    suffix: '',
  }),
};

/** A conversation in the preview of a change. */
export function conversationLine({ id, status, title }: Conversation, profile?: string): string {
  const of = profile === undefined ? '' : ` of ${profile}`;
  return `conversation ${id}${of} (${status})${title ? `: ${title}` : ''}`;
}

async function specsBySandbox(server: Server): Promise<Map<string, string | null>> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => server.sandboxes.list(page, pageSize),
    id: byId,
  });
  return new Map(items.map(({ id, spec_id }) => [id, spec_id]));
}
