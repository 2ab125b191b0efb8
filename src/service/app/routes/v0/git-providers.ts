/** The configuration of the server, and what the user has at a git provider (interface sections 2.3 and 3.5). */
import type { Context } from 'hono';
import { json } from '../../../http/answer.ts';
import type { Handler, Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import type { Forgejo } from '../../repositories/forgejo.ts';
import { connectedForgejo } from '../../settings/providers.ts';

const NEEDS_TOKEN = 'Git provider token required. (such as GitHub).';

/** Requests go to a Forgejo host alone. Without one the answer is a bare string, as of genuine servers without a token. */
export function gitProviderHandlersV0({ store }: AppContext): Handlers<AppRoute> {
  const at =
    (refusal: string, ask: (forgejo: Forgejo, query: (name: string) => string) => Promise<unknown>): Handler =>
    async (c: Context) => {
      const forgejo = connectedForgejo(store.documents);
      return forgejo === null ? json(refusal, 401) : json(await ask(forgejo, (name) => c.req.query(name) ?? ''));
    };
  return {
    'GET /api/options/config': () =>
      json({
        APP_MODE: 'oss',
        GITHUB_CLIENT_ID: '',
        POSTHOG_CLIENT_KEY: '',
        FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
      }),
    'GET /api/user/repositories': at(NEEDS_TOKEN, (forgejo) => forgejo.repositories('')),
    'GET /api/user/search/repositories': at('Git provider token required.', (forgejo, query) =>
      forgejo.repositories(query('query')),
    ),
    'GET /api/user/search/branches': at(NEEDS_TOKEN, (forgejo, query) =>
      forgejo.branches(query('repository'), query('query')),
    ),
    'GET /api/user/repository/branches': at(NEEDS_TOKEN, async (forgejo, query) => {
      const branches = await forgejo.branches(query('repository'), '');
      return { branches, has_next_page: false, current_page: 1, per_page: branches.length, total_count: null };
    }),
    'GET /api/user/suggested-tasks': at('No providers set.', (forgejo) => forgejo.tasks()),
  };
}
