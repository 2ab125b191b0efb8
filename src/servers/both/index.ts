/**
 * Servers that speak both dialects (0.60 to 1.6, the local service): V1 for everything it knows, V0 for the
 * conversations and the members only V0 has.
 */
import { isAppError } from '../../errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { startMember } from '../features.ts';
import type { ProbeFacts } from '../probe.ts';
import { isOfV1 } from '../v0/calls.ts';
import type { V0 } from '../v0/index.ts';
import type { V1 } from '../v1/index.ts';
import { createMergedList } from './list.ts';
import { withUseByV0 } from './sandboxes.ts';

/** @param owners the dialects of conversations, by id: they do not change, and are kept for the other adapters of the command */
export function createBoth(v1: V1, v0: V0, facts: ProbeFacts, owners: Map<string, Dialect>): V1 {
  const { conversations: newer } = v1;
  const { conversations: older } = v0;
  const listBoth = createMergedList(newer.list, older.list);
  // Elsewhere what a V0 conversation runs in is no sandbox, or none that is told.
  const namesSandboxes = facts.flavour === 'local';

  /** Which dialect a conversation is of: V1 knows its own by id, the rest is V0's. */
  const ownerOf = async (id: string): Promise<V1['conversations']> => {
    let dialect = owners.get(id);
    if (dialect === undefined) {
      dialect = await newer.get(id).then(
        () => 'v1' as const,
        (error: unknown) => {
          if (isAppError(error) && error.kind === 'not-found') return 'v0' as const;
          throw error;
        },
      );
      owners.set(id, dialect);
    }
    return dialect === 'v1' ? newer : older;
  };

  async function* through<T>(
    id: string,
    open: (adapter: V1['conversations']) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    yield* open(await ownerOf(id));
  }

  return {
    ...v1,
    sandboxes: namesSandboxes ? withUseByV0(v1.sandboxes, older) : v1.sandboxes,
    conversations: {
      async *start(request, options) {
        const dialect = startDialect(request, facts);
        const conversation = yield* (dialect === 'v1' ? newer : older).start(request, options);
        if (conversation.id !== '') owners.set(conversation.id, dialect);
        return conversation;
      },
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
          // It appeared between the two looks.
          if (!isAppError(error) || !isOfV1(error)) throw error;
        }
        owners.set(id, 'v1');
        return newer.get(id);
      },
      getSettled: async (id) => (await ownerOf(id)).getSettled(id),
      runsInSandbox: async (id) => (await ownerOf(id)).runsInSandbox(id),
      rename: async (id, title) => (await ownerOf(id)).rename(id, title),
      remove: async (id, scope) => (await ownerOf(id)).remove(id, scope),
      eventPages: (id, query) => through(id, (adapter) => adapter.eventPages(id, query)),
      follow: (id, options) => through(id, (adapter) => adapter.follow(id, options)),
      result: async (id) => (await ownerOf(id)).result(id),
      send: async (id, message) => (await ownerOf(id)).send(id, message),
      pending: async (id, paused) => (await ownerOf(id)).pending(id, paused),
      answer: async (id, answer) => (await ownerOf(id)).answer(id, answer),
      checkAnswer: async (id, answer) => (await ownerOf(id)).checkAnswer(id, answer),
      run: async (id) => (await ownerOf(id)).run(id),
      wake: async (id) => (await ownerOf(id)).wake(id),
      stop: async (id) => (await ownerOf(id)).stop(id),
      diff: async (id, onRead) => (await ownerOf(id)).diff(id, onRead),
    },
  };
}

/** The newest dialect that has every member asked for. */
export function startDialect(request: NewConversation, facts: ProbeFacts): Dialect {
  if (request.api !== 'auto') return request.api;
  const onlyV0 =
    request.microagent !== null ||
    request.mcp_config !== null ||
    (request.replay !== null && startMember(facts, 'replay_json') !== 'present');
  return onlyV0 ? 'v0' : 'v1';
}
