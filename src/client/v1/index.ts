/** What lists and looks up conversations is loaded at once, everything else at the first call. */
import { isRecord, withoutNull } from '../../protocol/shape.ts';
import { deferred } from '../shared/compose.ts';
import type { Links } from '../shared/links.ts';
import type { Adapter } from '../shared/server.ts';
import { CONVERSATIONS, find, searchConversations } from './calls.ts';
import { toConversation } from './records.ts';

export function createV1(links: Links): Adapter {
  const finding: Pick<Adapter['conversations'], 'list' | 'get'> = {
    async list(query, page) {
      const { items, next } = await searchConversations(links, query, page);
      return { items: items.map((record) => toConversation(links, record)), next };
    },
    async get(id) {
      const record = await find(links, CONVERSATIONS, id);
      if (record !== null) return toConversation(links, record);
      return await (await import('./lookup.ts')).getByStart(links, id);
    },
  };
  return {
    async account() {
      // Self-hosted servers have no users, and some answer 500 before settings are stored.
      const call = { mayBeMissing: true } as const;
      const read = await links.app.request({
        ...call,
        path: '/api/v1/users/me',
        accept: [404, 405, 500],
      });
      const me = read.status === 200 && isRecord(read.body) ? read.body : {};
      const text = (name: string) =>
        typeof me[name] === 'string' && me[name] !== '' ? me[name] : null;
      const user = { user: text('id'), email: text('email') ?? text('git_user_email') };
      if (links.facts.flavour !== 'cloud') return { ...user, organization: null };
      const accept = [400, 401, 403, 404, 405, 500];
      const { body } = await links.app.request({ ...call, path: '/api/keys/current', accept });
      const organization = isRecord(body) ? body['org_id'] : null;
      return { ...user, organization: typeof organization === 'string' ? organization : null };
    },
    conversations: deferred(
      async () => (await import('./conversations.ts')).createConversationsV1(links, finding),
      finding,
    ),
    sandboxes: deferred(async () =>
      (await import('./sandboxes.ts')).createSandboxes(links, [finding.list]),
    ),
    specs: deferred(async () => (await import('./sandboxes.ts')).createSpecs(links)),
    settings: deferred(async () => (await import('./settings.ts')).createSettingsV1(links)),
    secrets: deferred(async () => (await import('../shared/secrets.ts')).createSecrets(links)),
    git: deferred(async () => (await import('../git/index.ts')).createGit(links)),
    modelProfiles: deferred(async () => {
      const { createModelProfiles } = await import('../shared/model-profiles.ts');
      return createModelProfiles(links, '/api/v1/settings/profiles', (choice) =>
        choice === null
          ? {}
          : { llm: withoutNull(choice), preserve_existing_api_key: choice.api_key === null },
      );
    }),
  };
}
