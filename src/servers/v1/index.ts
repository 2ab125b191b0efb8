/**
 * The V1 adapter of the port: the calls of the app server, and of the agent server behind each conversation. What lists
 * and looks up conversations is here; everything else is loaded when it is asked for.
 */
import { isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Server } from '../server.ts';
import { getConversation, searchConversations } from './calls.ts';
import type { ConversationWork } from './conversations.ts';
import { toConversation, type WebUrl } from './records.ts';

export type V1 = Omit<Server, 'info' | 'presence' | 'close' | 'withSignal'>;

export function createV1(links: Links, facts: ProbeFacts): V1 {
  const webUrl: WebUrl = (id) => (facts.flavour === 'local' ? null : `${links.app.baseUrl}/conversations/${id}`);
  return {
    account: async () => (await import('./account.ts')).accountV1(links, facts),
    conversations: conversationsOf(links, facts, webUrl),
    ...thingsOf(links, facts),
  };
}

function conversationsOf(links: Links, facts: ProbeFacts, webUrl: WebUrl): V1['conversations'] {
  const work = once<ConversationWork>(async () =>
    (await import('./conversations.ts')).createConversationWork(links, facts, webUrl),
  );
  return {
    async list(query, page) {
      const { items, next } = await searchConversations(links, query, page);
      return { items: items.map((record) => toConversation(record, webUrl)), next };
    },
    get: (id) => get(links, facts, webUrl, id),
    getSettled: async (id) => (await work()).getSettled(id),
    async *start(request, options) {
      return yield* (await work()).start(request, options);
    },
    runsInSandbox: async (id) => (await work()).runsInSandbox(id),
    rename: async (id, title) => (await work()).rename(id, title),
    remove: async (id, scope) => (await work()).remove(id, scope),
    async *eventPages(id, query) {
      yield* (await work()).eventPages(id, query);
    },
    async *follow(id, options) {
      yield* (await work()).follow(id, options);
    },
    result: async (id) => (await work()).result(id),
    send: async (id, message) => (await work()).send(id, message),
    pending: async (id, paused) => (await work()).pending(id, paused),
    answer: async (id, answer) => (await work()).answer(id, answer),
    checkAnswer: () => Promise.resolve(),
    run: async (id) => (await work()).run(id),
    wake: async (id) => (await work()).wake(id),
    stop: async (id) => (await work()).stop(id),
    diff: async (id, onRead) => (await work()).diff(id, onRead),
  };
}

/** A conversation's id, or that of its start task. */
async function get(links: Links, facts: ProbeFacts, webUrl: WebUrl, id: string): Promise<Conversation> {
  try {
    return toConversation(await getConversation(links, id), webUrl);
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  }
  const { getByStart } = await import('./lookup.ts');
  return await getByStart(links, facts, webUrl, id);
}

type Things = Pick<V1, 'sandboxes' | 'specs' | 'settings' | 'secrets' | 'modelProfiles'>;

function thingsOf(links: Links, facts: ProbeFacts): Things {
  const sandboxes = once(async () => (await import('./sandboxes.ts')).createSandboxes(links));
  const specs = once(async () => (await import('./specs.ts')).createSpecs(links));
  const settings = once(async () => (await import('./settings.ts')).createSettingsV1(links, facts));
  // Releases that serve V0 too have no other routes for secrets; the local service has both.
  const dialect = facts.dialects.includes('v0') && facts.flavour !== 'local' ? 'v0' : 'v1';
  const secrets = once(async () => (await import('../secrets.ts')).createSecrets(links, facts, dialect));
  const models = once(async () => (await import('./model-profiles.ts')).createModelProfilesV1(links, facts));
  return {
    sandboxes: {
      list: async (page, pageSize, use) => (await sandboxes()).list(page, pageSize, use),
      get: async (id) => (await sandboxes()).get(id),
      secrets: async (id) => (await sandboxes()).secrets(id),
      create: async (specId) => (await sandboxes()).create(specId),
      pause: async (id) => (await sandboxes()).pause(id),
      resume: async (id, spec) => (await sandboxes()).resume(id, spec),
      remove: async (id) => (await sandboxes()).remove(id),
    },
    specs: {
      list: async (page, pageSize) => (await specs()).list(page, pageSize),
      get: async (id) => (await specs()).get(id),
    },
    settings: {
      read: async () => (await settings()).read(),
      write: async (change) => (await settings()).write(change),
      schema: async () => (await settings()).schema(),
    },
    secrets: {
      list: async (page, pageSize) => (await secrets()).list(page, pageSize),
      set: async (secret) => (await secrets()).set(secret),
      remove: async (name) => (await secrets()).remove(name),
    },
    modelProfiles: {
      list: async () => (await models()).list(),
      get: async (name) => (await models()).get(name),
      save: async (name, choice) => (await models()).save(name, choice),
      use: async (name) => (await models()).use(name),
      rename: async (name, newName) => (await models()).rename(name, newName),
      remove: async (name) => (await models()).remove(name),
    },
  };
}

/** Makes it when it is asked for, and keeps it. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
