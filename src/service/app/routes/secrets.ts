/**
 * Secrets, tokens of git providers, and what is looked up at a provider (interface sections 2.3,
 * 2.4, 2.8, 3.5 and 9). Values of secrets are not part of any answer.
 */
import type { Context } from 'hono';
import * as v0 from '../../../protocol/v0/requests.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, json, refuse } from '../../http/answer.ts';
import { listPage } from '../../http/request.ts';
import { body, query, type Handlers } from '../../http/route.ts';
import type { AppRoute } from '../../http/served-routes.ts';
import type { AppContext } from '../context.ts';
import {
  replaceProviders,
  searchedForgejo,
  storeProviders,
  type Forgejo,
} from '../../settings/git-providers.ts';

const ELSEWHERE =
  'the local service clones with tokens of other providers, and searches Forgejo hosts only';

export function secretHandlers({ store: { secrets, documents } }: AppContext): Handlers<AppRoute> {
  const secretId = (c: Context): string => c.req.param('secret_id') ?? '';
  const unset = () => {
    replaceProviders(documents, {});
    return { message: 'Unset Git provider tokens' };
  };
  const hostOf = (
    provider: string | undefined,
    noToken: HttpError,
    elsewhere: HttpError,
  ): Forgejo => {
    const found = searchedForgejo(documents, noToken, provider);
    if (found === null) throw elsewhere;
    return found;
  };
  /** Over V0 the errors are bare strings, as on genuine servers. */
  const hostV0 = (text: string, provider: string | undefined): Forgejo =>
    hostOf(provider, new HttpError(401, text), new HttpError(501, ELSEWHERE));
  const needsToken = refuse(403, 'Git provider token required (such as GitHub).');
  const hostV1 = (provider: string): Forgejo =>
    hostOf(provider, needsToken, refuse(501, ELSEWHERE));
  return {
    'GET /api/secrets': () => ({ custom_secrets: secrets.list() }),
    'POST /api/secrets': body(v0.secretCreate, ({ name, value, description }) => {
      if (secrets.get(name) !== null)
        throw new HttpError(400, { message: `Secret ${name} already exists` });
      secrets.put(name, value, description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    }),
    'DELETE /api/secrets/{secret_id}': (c) => {
      const id = secretId(c);
      if (!secrets.remove(id))
        throw new HttpError(404, { error: `Secret with ID ${id} not found` });
      return { message: 'Secret deleted successfully' };
    },
    'POST /api/add-git-providers': body(v0.gitProviders, async ({ provider_tokens: tokens }) => {
      await storeProviders(documents, tokens ?? {}, (error) => new HttpError(401, { error }));
      return { message: 'Git providers stored' };
    }),
    'POST /api/unset-provider-tokens': unset,
    // All of them without a provider; with one, a page.
    'GET /api/user/repositories': query(v0.repositoryListQuery, async (given) => {
      const host = hostV0(
        'Git provider token required. (such as GitHub).',
        given.selected_provider,
      );
      const found = await host.repositories('');
      const { selected_provider: provider, page = 1, per_page = found.length } = given;
      return provider === undefined ? found : part(found, page, per_page);
    }),
    'GET /api/user/search/repositories': query(v0.repositorySearchQuery, async (given) => {
      const host = hostV0('Git provider token required.', given.selected_provider);
      return part(await host.repositories(given.query), 1, given.per_page);
    }),
    'GET /api/user/search/branches': query(v0.branchSearchQuery, async (given) => {
      const host = hostV0('Git provider token required.', given.selected_provider);
      return part(await host.branches(given.repository, given.query), 1, given.per_page);
    }),
    'GET /api/user/repository/branches': query(v0.branchListQuery, async (given) => {
      const { page, per_page } = given;
      const host = hostV0(
        'Git provider token required. (such as GitHub).',
        given.selected_provider,
      );
      const found = await host.branches(given.repository, '');
      const has_next_page = page * per_page < found.length;
      return {
        branches: part(found, page, per_page),
        has_next_page,
        current_page: page,
        per_page,
        total_count: null,
      };
    }),
    'GET /api/user/suggested-tasks': () =>
      searchedForgejo(documents, new HttpError(401, 'No providers set.'))?.tasks() ?? [],

    'POST /api/v1/secrets/git-providers': body(
      v0.gitProviders,
      async ({ provider_tokens: tokens }) => {
        await storeProviders(documents, tokens ?? {}, (text) => refuse(401, text));
        return { message: 'Git providers stored' };
      },
    ),
    // Before the secrets: `git-providers` could be the name of one.
    'DELETE /api/v1/secrets/git-providers': unset,
    'GET /api/v1/secrets/search': query(
      v1.secretSearchQuery,
      ({ limit, page_id: after = '', name__contains = '' }) => {
        const wanted = name__contains.toLowerCase();
        const found = secrets
          .list()
          .filter(({ name }) => name > after && name.toLowerCase().includes(wanted));
        return {
          items: found.slice(0, limit),
          next_page_id: found.length > limit ? found[limit - 1]?.name : null,
        };
      },
    ),
    'POST /api/v1/secrets': body(v1.secretCreate, ({ name, value, description }) => {
      secrets.put(name, value, description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    }),
    'PUT /api/v1/secrets/{secret_id}': body(v1.secretUpdate, ({ name, description }, c) => {
      const id = secretId(c);
      const before = secrets.get(id);
      if (before === null) throw refuse(404, `Secret with ID ${id} not found`);
      if (name !== id && secrets.get(name) !== null)
        throw refuse(400, `Secret ${name} already exists`);
      secrets.rename(id, name, description ?? before.description);
      return { message: 'Secret updated successfully' };
    }),
    'DELETE /api/v1/secrets/{secret_id}': (c) => {
      const id = secretId(c);
      if (!secrets.remove(id)) throw refuse(404, `Secret with ID ${id} not found`);
      return { message: 'Secret deleted successfully' };
    },
    'GET /api/v1/git/installations/search': query(v1.gitSearchQuery, ({ provider }) => {
      hostV1(provider);
      throw refuse(400, "Provider ProviderType.FORGEJO doesn't support installations");
    }),
    'GET /api/v1/git/repositories/search': query(v1.repositorySearchQuery, async (given) =>
      listPage(given, await hostV1(given.provider).repositories(given.query)),
    ),
    'GET /api/v1/git/branches/search': query(v1.branchSearchQuery, async (given) =>
      listPage(given, await hostV1(given.provider).branches(given.repository, given.query)),
    ),
    'GET /api/v1/git/suggested-tasks/search': query(v1.pageQuery, async (given) =>
      listPage(given, (await searchedForgejo(documents, needsToken)?.tasks()) ?? []),
    ),
  };
}

function part<T>(list: readonly T[], page: number, size: number): T[] {
  return list.slice((page - 1) * size, page * size);
}
