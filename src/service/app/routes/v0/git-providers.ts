/** The configuration of the server, and what the user has at a git provider (interface sections 2.3 and 3.5). */
import type * as v from 'valibot';
import {
  branchListQuery,
  branchSearchQuery,
  repositoryListQuery,
  repositorySearchQuery,
} from '../../../../protocol/v0/requests.ts';
import { json } from '../../../http/answer.ts';
import { readQuery } from '../../../http/request.ts';
import type { Handler, Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import type { Forgejo } from '../../repositories/forgejo.ts';
import { searchedProvider, SEARCHES_FORGEJO } from '../../settings/providers.ts';

const NEEDS_TOKEN = 'Git provider token required. (such as GitHub).';

/** Requests go to a Forgejo host alone. Without a token the answer is a bare string, as of genuine servers. */
export function gitProviderHandlersV0({ store }: AppContext): Handlers<AppRoute> {
  const at =
    <S extends v.GenericSchema>(
      schema: S,
      refusal: string,
      ask: (forgejo: Forgejo, query: v.InferOutput<S>) => Promise<unknown>,
    ): Handler =>
    async (c) => {
      const query = readQuery(c, schema);
      const found = searchedProvider(store.documents, c.req.query('selected_provider'));
      if (found === 'no-token') return json(refusal, 401);
      if (found === 'elsewhere') return json(SEARCHES_FORGEJO, 501);
      return json(await ask(found, query));
    };
  return {
    'GET /api/options/config': () =>
      json({
        APP_MODE: 'oss',
        GITHUB_CLIENT_ID: '',
        POSTHOG_CLIENT_KEY: '',
        FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
      }),
    // All of them without a provider; with one, a page.
    'GET /api/user/repositories': at(repositoryListQuery, NEEDS_TOKEN, async (forgejo, query) => {
      const found = await forgejo.repositories('');
      const { selected_provider: provider, page = 1, per_page = found.length } = query;
      return provider === undefined ? found : part(found, page, per_page);
    }),
    'GET /api/user/search/repositories': at(
      repositorySearchQuery,
      'Git provider token required.',
      async (forgejo, { query, per_page }) => part(await forgejo.repositories(query), 1, per_page),
    ),
    'GET /api/user/search/branches': at(
      branchSearchQuery,
      'Git provider token required.',
      async (forgejo, { repository, query, per_page }) => part(await forgejo.branches(repository, query), 1, per_page),
    ),
    'GET /api/user/repository/branches': at(branchListQuery, NEEDS_TOKEN, async (forgejo, query) => {
      const { repository, page, per_page } = query;
      const found = await forgejo.branches(repository, '');
      const branches = part(found, page, per_page);
      const has_next_page = page * per_page < found.length;
      return { branches, has_next_page, current_page: page, per_page, total_count: null };
    }),
    'GET /api/user/suggested-tasks': async () => {
      const found = searchedProvider(store.documents);
      if (found === 'no-token') return json('No providers set.', 401);
      return json(found === 'elsewhere' ? [] : await found.tasks());
    },
  };
}

/** @param page from 1 on */
function part<T>(list: readonly T[], page: number, size: number): T[] {
  return list.slice((page - 1) * size, page * size);
}
