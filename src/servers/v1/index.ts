/**
 * The V1 adapter of the port: the calls of the app server, and of the agent server behind each conversation. What lists
 * and looks up conversations is loaded at once, everything else at the first call.
 */
import type { Conversation } from '../../domain/conversation.ts';
import { isAppError } from '../../errors.ts';
import { deferred } from '../compose.ts';
import { webUrlOf, type Links, type WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Adapter } from '../server.ts';
import { getConversation, searchConversations } from './calls.ts';
import { toConversation } from './records.ts';

export function createV1(links: Links, facts: ProbeFacts): Adapter {
  const webUrl = webUrlOf(links);
  // Releases that serve V0 too have no other routes for secrets.
  const secretsDialect = facts.dialects.includes('v0') && facts.features['v1-secrets'] !== 'present' ? 'v0' : 'v1';
  const find: Pick<Adapter['conversations'], 'list' | 'get'> = {
    async list(query, page) {
      const { items, next } = await searchConversations(links, query, page);
      return { items: items.map((record) => toConversation(record, webUrl)), next };
    },
    get: (id) => findV1(links, facts, webUrl, id),
  };
  return {
    account: async () => (await import('./account.ts')).accountV1(links, facts),
    conversations: {
      ...deferred('conversations', async () =>
        (await import('./conversations.ts')).createConversationsV1(links, facts, webUrl, find),
      ),
      ...find,
    },
    sandboxes: deferred('sandboxes', async () => (await import('./sandboxes.ts')).createSandboxes(links)),
    specs: deferred('specs', async () => (await import('./specs.ts')).createSpecs(links)),
    settings: deferred('settings', async () => (await import('./settings.ts')).createSettingsV1(links, facts)),
    secrets: deferred('secrets', async () =>
      (await import('../secrets.ts')).createSecrets(links, facts, secretsDialect),
    ),
    git: deferred('git', async () => (await import('../git/index.ts')).createGit(links, facts)),
    modelProfiles: deferred('modelProfiles', async () =>
      (await import('./model-profiles.ts')).createModelProfilesV1(links, facts),
    ),
  };
}

/** @param id of the conversation, or of its start task */
async function findV1(links: Links, facts: ProbeFacts, webUrl: WebUrl, id: string): Promise<Conversation> {
  try {
    return toConversation(await getConversation(links, id), webUrl);
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  }
  const { getByStart } = await import('./lookup.ts');
  return await getByStart(links, facts, webUrl, id);
}
