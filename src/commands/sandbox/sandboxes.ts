/** Sandboxes as a resource of the generic verbs. */
import { isSelected } from '../../domain/selectors.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { readSandboxWord } from '../../domain/ids.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { runsIn } from '../resource/in-sandbox.ts';
import type { Resource, Target } from '../resource/resource.ts';
import { sandboxView } from './view.ts';

export const sandboxes: Resource<Sandbox> = {
  noun: 'sandbox',
  plural: 'sandboxes',
  command: 'sandbox',
  view: sandboxView,
  readWord: readSandboxWord,
  idsOf: ({ id }) => [id],
  async ofLast(server, conversationId) {
    // Where no server of this kind has sandboxes, that is the error, and not that this conversation has none.
    if (server.presence('sandboxes') === 'absent') return await server.sandboxes.get(conversationId);
    const { sandbox_id } = await server.conversations.get(conversationId);
    if (sandbox_id !== null) return await server.sandboxes.get(sandbox_id);
    throw new AppError('not-found', `the last conversation, ${conversationId}, has no sandbox`);
  },
  get: async (server, id) => await server.sandboxes.get(id),
  list: async (server, page, pageSize) => await server.sandboxes.list(page, pageSize),
  async selector(ctx, server, selection) {
    const needsRuns = selection.idleMs !== undefined || selection.notIdleMs !== undefined;
    const busy = needsRuns ? await sandboxesWithRuns(server) : null;
    const matches = (sandbox: Sandbox, running: boolean | null): boolean => {
      const { status, created_at, last_active_at: updated_at, spec_id, repositories } = sandbox;
      return isSelected({ status, created_at, updated_at, running, spec_id, repositories }, selection, ctx.clock.now());
    };
    return {
      matches: (sandbox) => matches(sandbox, busy && busy.has(sandbox.id)),
      stillMatches: async (sandbox) =>
        matches(sandbox, needsRuns ? (await runsIn(server, sandbox.id)).length > 0 : null),
    };
  },
  gone,
  preview(targets) {
    const conversations = targets.reduce((sum, { seen }) => sum + seen.conversation_ids.length, 0);
    const suffix = conversations === 0 ? '' : ` with ${conversations} conversation${conversations === 1 ? '' : 's'}`;
    return { preview: targets.map(hitLine), suffix };
  },
};

function hitLine({ id, profile, seen }: Target<Sandbox>): string {
  const conversations = seen.conversation_ids.length === 0 ? 'none' : seen.conversation_ids.join(', ');
  const of = profile === undefined ? '' : ` of ${profile}`;
  return `sandbox ${id}${of} (${seen.status}), conversations: ${conversations}`;
}

async function sandboxesWithRuns(server: Server): Promise<Set<string>> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => server.conversations.list({ pageSize }, page),
    id: byId,
  });
  return new Set(items.filter(isRunInProgress).flatMap(({ sandbox_id }) => sandbox_id ?? []));
}

/** The record of a sandbox that the server no longer has. */
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

/** As the server has it; `gone(id, before)` where it does not exist. */
export async function readOrGone(server: Server, id: string, before?: Sandbox): Promise<Sandbox> {
  try {
    return await server.sandboxes.get(id);
  } catch (error) {
    if (isNotFound(error)) return gone(id, before);
    throw error;
  }
}
