/** The V0 adapter of the port (interface 3): what V0 lacks is `unsupported`. */
import { AppError } from '../../base/errors.ts';
import { deferred, forward, type Group } from '../shared/compose.ts';
import type { Links } from '../shared/links.ts';
import { listOwnV0 } from './quirks/mixed-list-v0.ts';
import type { Adapter } from '../shared/server.ts';
import { listConversationsV0 } from './calls.ts';
import { toConversationV0 } from './records.ts';

/** Interface 3.2: they are left out after paging, so no page shows that something is missing. */
const OLD_ONES_HIDDEN =
  'V0 conversations older than ten days may be missing: this server does not list them; acs ' +
  'conv show <id> finds them';

export function createV0(links: Links): Adapter {
  const { facts } = links;
  const list: Adapter['conversations']['list'] = async (query, page) => {
    const search = facts.dialects.includes('v1') ? listOwnV0 : listConversationsV0;
    const { items, next } = await search(links, query.pageSize ?? 100, page);
    if (
      next === null &&
      query.omissions === 'say' &&
      facts.features['old-v0-conversations'] !== 'present'
    )
      links.notice(OLD_ONES_HIDDEN);
    const found = items.map((info) => toConversationV0(links, info, null));
    const isAsked = (sandboxId: string | null) =>
      query.sandboxId === undefined || query.sandboxId === sandboxId;
    return { items: found.filter(({ sandbox_id }) => isAsked(sandbox_id)), next };
  };
  const lacking = <T extends Adapter[Group]>(what: string) =>
    forward<T>(() => {
      const message = `this server speaks V0 only, which has no ${what}; V1 servers do`;
      return Promise.reject(new AppError('unsupported', message));
    });
  return {
    account: () => Promise.resolve({ user: null, email: null, organization: null }),
    conversations: deferred(
      async () => (await import('./conversations.ts')).createConversationsV0(links, list),
      { list },
    ),
    sandboxes: lacking('sandboxes'),
    specs: lacking('sandbox specs'),
    settings: deferred(async () => (await import('./settings.ts')).createSettingsV0(links)),
    secrets: deferred(async () => (await import('../shared/secrets.ts')).createSecrets(links)),
    git: deferred(async () => (await import('../git/index.ts')).createGit(links)),
    modelProfiles: lacking('model profiles'),
  };
}
