/** Sandboxes with the V0 conversations in them, where the server names the sandbox of those too. */
import type { Conversation } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { allPages, byId } from '../../domain/pages.ts';
import type { Server } from '../server.ts';

export function withUseByV0(sandboxes: Server['sandboxes'], older: Server['conversations']): Server['sandboxes'] {
  return {
    ...sandboxes,
    async list(page, pageSize, use = 'read') {
      if (use === 'none') return await sandboxes.list(page, pageSize, use);
      const [found, uses] = await Promise.all([sandboxes.list(page, pageSize), readUses(older)]);
      return { items: found.items.map((sandbox) => used(sandbox, uses.get(sandbox.id) ?? [])), next: found.next };
    },
    async get(id) {
      const [sandbox, uses] = await Promise.all([sandboxes.get(id), readUses(older, id)]);
      return used(sandbox, uses.get(id) ?? []);
    },
  };
}

async function readUses(older: Server['conversations'], sandboxId?: string): Promise<Map<string, Conversation[]>> {
  const uses = new Map<string, Conversation[]>();
  const query = sandboxId === undefined ? {} : { sandboxId };
  for await (const conversation of allPages<Conversation>(byId, (page) => older.list(query, page))) {
    const { sandbox_id: id } = conversation;
    if (id !== null) uses.set(id, [...(uses.get(id) ?? []), conversation]);
  }
  return uses;
}

function used(sandbox: Sandbox, conversations: readonly Conversation[]): Sandbox {
  if (conversations.length === 0) return sandbox;
  const repositories = conversations.flatMap(({ repository }) => repository ?? []);
  const times = conversations.flatMap(({ updated_at }) => updated_at ?? []);
  return {
    ...sandbox,
    conversation_ids: [...sandbox.conversation_ids, ...conversations.map(({ id }) => id)],
    repositories: [...new Set([...sandbox.repositories, ...repositories])],
    last_active_at: [...times, sandbox.last_active_at ?? ''].sort().at(-1) ?? null,
  };
}
