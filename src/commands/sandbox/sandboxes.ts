import type { Conversation } from '../../domain/conversation.ts';
import type { Sandbox, SandboxSecrets } from '../../domain/sandbox.ts';
import type { View } from '../../output/view.ts';
import { isSelected } from '../../domain/selectors.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { normalizeId, readSandboxWord } from '../../domain/ids.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { AppError, isNotFound } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Resource } from '../shared/resource.ts';

const TABLE = ['id', 'status', 'spec_id', 'created_at', 'last_active_at', 'repositories'];
const FIELDS: View<Sandbox>['fields'] = [
  { name: 'id', as: 'id', weight: 3 },
  { name: 'status', as: 'status', weight: 0 },
  { name: 'status_detail' },
  { name: 'spec_id', weight: 2 },
  { name: 'created_at', as: 'time', weight: 0 },
  { name: 'last_active_at', as: 'time', weight: 0 },
  { name: 'conversation_ids', json: { list: true } },
  { name: 'repositories', weight: 2, cut: 'front', json: { list: true } },
  { name: 'urls', json: { list: true, members: ['name', 'url'] } },
];

const TSV = FIELDS.map(({ name }) => name).filter((name) => name !== 'urls');

export const sandboxView: View<Sandbox> = {
  noun: 'sandbox',
  id: (sandbox) => sandbox.id,
  fields: FIELDS,
  table: TABLE,
  tsv: TSV,
};

/** The one view that shows a key: behind `show --show-secrets`. */
export const sandboxWithKeyView: View<Sandbox & Partial<SandboxSecrets>> = {
  ...sandboxView,
  fields: [...sandboxView.fields, { name: 'session_api_key', weight: 0 }],
  table: [...TABLE, 'session_api_key'],
  tsv: [...TSV, 'session_api_key'],
};

export interface Copied {
  from: string;
  to: string;
  /** Links count as files; folders do not. */
  files: number;
  bytes: number;
}

export const copiedView: View<Copied> = {
  noun: 'copy',
  id: ({ to }) => to,
  fields: [
    { name: 'from', weight: 2 },
    { name: 'to', weight: 2 },
    { name: 'files', as: 'number', weight: 0 },
    { name: 'bytes', as: 'bytes', weight: 0 },
  ],
};

export const sandboxes: Resource<Sandbox> = {
  noun: 'sandbox',
  plural: 'sandboxes',
  command: 'sandbox',
  view: sandboxView,
  readWord: readSandboxWord,
  idsOf: ({ id }) => [id],
  ofLast: last,
  get: (server, id) => server.sandboxes.get(id),
  list: (server, page, pageSize) => server.sandboxes.list(page, pageSize),
  async selector(ctx, server, selection) {
    const busy = new Set<string | null>();
    if (selection.idleMs !== undefined) {
      const fetch = (page: string | null, pageSize: number) =>
        server.conversations.list({ pageSize }, page);
      const { items } = await collectPages({ fetch, id: byId });
      for (const { sandbox_id } of items.filter(isRunInProgress)) busy.add(sandbox_id);
    }
    const nowMs = ctx.clock.now();
    return (sandbox) => {
      const { id, last_active_at: updated_at } = sandbox;
      return isSelected({ ...sandbox, updated_at, running: busy.has(id) }, selection, nowMs);
    };
  },
  gone,
  preview(targets) {
    const { length: count } = targets.flatMap(({ seen }) => seen.conversation_ids);
    return {
      preview: targets.map(({ id, seen: { status, conversation_ids: ids } }) => {
        return `sandbox ${id} (${status}), conversations: ${ids.join(', ') || 'none'}`;
      }),
      suffix: count === 0 ? '' : ` with ${count} conversation${count === 1 ? '' : 's'}`,
    };
  },
};

async function last(server: Server, conversationId: string): Promise<Sandbox> {
  // The error names a kind of server without sandboxes, not a conversation without one.
  if (hasNone(server)) return await server.sandboxes.get(conversationId);
  const { sandbox_id } = await server.conversations.get(conversationId);
  if (sandbox_id !== null) return await server.sandboxes.get(sandbox_id);
  throw new AppError('not-found', `the last conversation, ${conversationId}, has no sandbox`);
}

/** `conversation`: its full id named the sandbox. */
export type NamedSandbox = Sandbox & { conversation?: string };

/**
 * For programs and files: the id of a conversation names its sandbox. It stands for one at a server
 * without sandboxes, whose conversations run on its machine.
 */
export const sandboxesOrConversations: Resource<NamedSandbox> = {
  ...sandboxes,
  idsOf: ({ id, conversation_ids }) => [id, ...conversation_ids],
  async ofLast(server, id) {
    if (hasNone(server)) return standIn(await server.conversations.get(id));
    return { ...(await last(server, id)), conversation: id };
  },
  async get(server, id) {
    if (hasNone(server)) return standIn(await server.conversations.get(id));
    return await server.sandboxes.get(id).catch(async (error: unknown) => {
      if (!isNotFound(error) || normalizeId(id) === null) throw error;
      const { id: conversation, sandbox_id } = await server.conversations.get(id);
      if (sandbox_id === null) throw error;
      return { ...(await readOrGone(server, sandbox_id)), conversation };
    });
  },
  async list(server, page, pageSize) {
    if (!hasNone(server)) return await server.sandboxes.list(page, pageSize);
    const { items, next } = await server.conversations.list({ pageSize }, page);
    return { items: items.map(standIn), next };
  },
};

function hasNone(server: Server): boolean {
  return server.presence('sandboxes') === 'absent';
}

function standIn({ id }: Conversation): NamedSandbox {
  return { ...gone(id), status: 'running', conversation: id };
}

export function gone(id: string, before?: Sandbox): Sandbox {
  return {
    id,
    status_detail: null,
    spec_id: null,
    created_at: null,
    last_active_at: null,
    conversation_ids: [],
    repositories: [],
    ...before,
    status: 'missing',
    urls: [],
  };
}

export async function readOrGone(server: Server, id: string, before?: Sandbox): Promise<Sandbox> {
  return await server.sandboxes.get(id).catch((error: unknown) => {
    if (isNotFound(error)) return gone(id, before);
    throw error;
  });
}
