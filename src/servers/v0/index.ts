/** The V0 adapter of the port (interface 3): what V0 lacks is `unsupported`. */
import { AppError } from '../../errors.ts';
import { deferred, lacking } from '../compose.ts';
import { webUrlOf, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Adapter } from '../server.ts';
import { findV0, listV0 } from './find.ts';

export function createV0(links: Links, facts: ProbeFacts): Adapter {
  const webUrl = webUrlOf(links);
  return {
    account: () => Promise.resolve({ user: null, email: null, organization: null }),
    conversations: {
      ...deferred('conversations', async () =>
        (await import('./conversations.ts')).createConversationsV0(links, facts, webUrl),
      ),
      list: (query, page) => listV0(links, facts, webUrl, query, page),
      get: (id) => findV0(links, facts, webUrl, id),
    },
    sandboxes: lacking('sandboxes', () => lacks('sandboxes')),
    specs: lacking('specs', () => lacks('sandbox specs')),
    settings: deferred('settings', async () => (await import('./settings.ts')).createSettingsV0(links, facts)),
    secrets: deferred('secrets', async () => (await import('../secrets.ts')).createSecrets(links, facts, 'v0')),
    git: deferred('git', async () => (await import('../git/index.ts')).createGit(links, facts)),
    modelProfiles: lacking('modelProfiles', () => lacks('model profiles')),
  };
}

function lacks(what: string): AppError {
  return new AppError('unsupported', `this server speaks V0 only, which has no ${what}; V1 servers do`);
}
