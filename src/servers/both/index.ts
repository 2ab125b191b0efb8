/**
 * Servers that speak both dialects (0.60 to 1.6, the local service): V1 for everything it has, V0 for the
 * conversations and the members only V0 has.
 */
import { isAppError, isNotFound } from '../../errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { forward } from '../compose.ts';
import { startMember } from '../features.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Adapter } from '../server.ts';
import { isOfV1 } from '../v0/calls.ts';
import { createMergedList } from './list.ts';
import { withUseByV0 } from './sandboxes.ts';

/**
 * @param owners the dialects of conversations, by id: they do not change, and are kept for the other adapters of the
 * command
 */
export function createBoth(v1: Adapter, v0: Adapter, facts: ProbeFacts, owners: Map<string, Dialect>): Adapter {
  const { conversations: newer } = v1;
  const { conversations: older } = v0;
  const listBoth = createMergedList(newer.list, older.list);
  const namesSandboxes = facts.features['v0-sandboxes'] === 'present';

  /** Which dialect a conversation is of: V1 returns its own by id, the others are V0's. */
  const ownerOf = async (id: string): Promise<Adapter['conversations']> => {
    let dialect = owners.get(id);
    if (dialect === undefined) {
      dialect = await newer.get(id).then(
        () => 'v1' as const,
        (error: unknown) => {
          if (isNotFound(error)) return 'v0' as const;
          throw error;
        },
      );
      owners.set(id, dialect);
    }
    return dialect === 'v1' ? newer : older;
  };

  return {
    ...v1,
    sandboxes: namesSandboxes ? withUseByV0(v1.sandboxes, older) : v1.sandboxes,
    conversations: {
      ...forward('conversations', (id) => ownerOf(id as string)),
      async *start(request, options) {
        const dialect = startDialect(request, facts);
        const conversation = yield* (dialect === 'v1' ? newer : older).start(request, options);
        if (conversation.id !== '') owners.set(conversation.id, dialect);
        return conversation;
      },
      findStart: (sent) => (sent.dialect === 'v1' ? newer : older).findStart(sent),
      async list(query, page) {
        const ofOneSandbox = query.sandboxId !== undefined && !namesSandboxes;
        const found = await (ofOneSandbox ? newer.list(query, page) : listBoth(query, page));
        for (const { id, dialect } of found.items) owners.set(id, dialect);
        return found;
      },
      get: async (id) => {
        const known = owners.get(id);
        if (known === 'v0') return older.get(id);
        try {
          const conversation = await newer.get(id);
          owners.set(id, 'v1');
          return conversation;
        } catch (error) {
          if (!isAppError(error) || error.kind !== 'not-found') throw error;
        }
        try {
          const conversation = await older.get(id);
          owners.set(id, 'v0');
          return conversation;
        } catch (error) {
          // It was created between the two reads.
          if (!isAppError(error) || !isOfV1(error)) throw error;
        }
        owners.set(id, 'v1');
        return newer.get(id);
      },
    },
  };
}

/** The newest dialect that has every member of the request. */
export function startDialect(request: NewConversation, facts: ProbeFacts): Dialect {
  if (request.api !== 'auto') return request.api;
  const onlyV0 =
    request.microagent !== null ||
    request.mcp_config !== null ||
    (request.replay !== null && startMember(facts, 'replay_json') !== 'present');
  return onlyV0 ? 'v0' : 'v1';
}
