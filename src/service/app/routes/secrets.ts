/** Secrets (their values are in no answer) and git providers (interface 2.3, 2.4, 2.8, 3.5, 9). */
import * as v from 'valibot';
import * as v0 from '../../../protocol/v0/requests.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, json, refuse } from '../../http/answer.ts';
import {
  customSecret,
  errorMessage,
  integer,
  message,
  pageOf,
  refusal,
  refused,
  unauthorized,
} from '../../http/records.ts';
import { listPage } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import type { AppContext } from '../context.ts';
import * as records from '../records.ts';
import type { Forgejo } from '../../settings/forgejo.ts';
import { searchedForgejo, storeProviders } from '../../settings/git-providers.ts';

const ELSEWHERE =
  'the local service clones with tokens of other providers, and searches Forgejo hosts only';
const NO_TOKEN_V0 = 'Git provider token required. (such as GitHub).';

const OF_PROVIDER_V0 = { 401: unauthorized, 501: v.string(), ...refused(502) };

export const secretRoutes: readonly Route<AppContext>[] = [
  route('GET /api/secrets', {
    callers: 'acs secret list',
    answers: { 200: v.object({ custom_secrets: v.array(customSecret) }) },
    handle: ({ store }) => ({ custom_secrets: store.secrets.list() }),
  }),
  route('POST /api/secrets', {
    callers: 'acs secret set',
    body: v0.secretCreate,
    answers: { 201: message, 400: message },
    handle({ store: { secrets } }, { body: { name, value, description } }) {
      if (secrets.get(name) !== null)
        throw new HttpError(400, { message: `Secret ${name} already exists` });
      secrets.put(name, value, description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    },
  }),
  route('DELETE /api/secrets/{secret_id}', {
    callers: 'acs secret delete',
    answers: { 200: message, 404: errorMessage },
    handle({ store }, { path: { secret_id: id } }) {
      if (!store.secrets.remove(id))
        throw new HttpError(404, { error: `Secret with ID ${id} not found` });
      return { message: 'Secret deleted successfully' };
    },
  }),
  route('POST /api/add-git-providers', {
    callers: 'acs git-provider set, acs git-provider delete, acs settings set',
    body: v0.gitProviders,
    answers: { 200: message, 401: v.union([refusal, errorMessage]) },
    handle: providersStored((error) => new HttpError(401, { error })),
  }),
  route('POST /api/unset-provider-tokens', {
    callers: 'acs git-provider delete, acs settings unset',
    answers: { 200: message },
    handle: providersUnset,
  }),
  route('GET /api/user/repositories', {
    callers: 'acs repo list',
    query: v0.repositoryListQuery,
    answers: { 200: v.array(records.repository), ...OF_PROVIDER_V0 },
    // All of them without a provider; with one, a page.
    async handle(context, { query }) {
      const host = hostV0(context, NO_TOKEN_V0, query.selected_provider);
      const all = await host.repositories('');
      const { selected_provider: provider, page = 1, per_page = all.length } = query;
      return provider === undefined ? all : part(all, page, per_page);
    },
  }),
  route('GET /api/user/search/repositories', {
    callers: 'acs repo list',
    query: v0.repositorySearchQuery,
    answers: { 200: v.array(records.repository), ...OF_PROVIDER_V0 },
    async handle(context, { query }) {
      const host = hostV0(context, 'Git provider token required.', query.selected_provider);
      return part(await host.repositories(query.query), 1, query.per_page);
    },
  }),
  route('GET /api/user/repository/branches', {
    callers: 'acs repo branches',
    query: v0.branchListQuery,
    answers: {
      200: v.object({
        branches: v.array(records.branch),
        has_next_page: v.boolean(),
        current_page: integer(),
        per_page: integer(),
        total_count: v.null(),
      }),
      ...OF_PROVIDER_V0,
    },
    async handle(context, { query: { page, per_page, ...query } }) {
      const host = hostV0(context, NO_TOKEN_V0, query.selected_provider);
      const all = await host.branches(query.repository, '');
      return {
        branches: part(all, page, per_page),
        has_next_page: page * per_page < all.length,
        current_page: page,
        per_page,
        total_count: null,
      };
    },
  }),
  route('GET /api/user/search/branches', {
    callers: 'acs repo branches',
    query: v0.branchSearchQuery,
    answers: { 200: v.array(records.branch), ...OF_PROVIDER_V0 },
    async handle(context, { query }) {
      const host = hostV0(context, 'Git provider token required.', query.selected_provider);
      return part(await host.branches(query.repository, query.query), 1, query.per_page);
    },
  }),
  route('GET /api/user/suggested-tasks', {
    callers: 'acs git-provider list',
    answers: { 200: v.array(records.task), 401: unauthorized, ...refused(502) },
    handle: ({ store }) =>
      searchedForgejo(store.documents, new HttpError(401, 'No providers set.'))?.tasks() ?? [],
  }),

  route('GET /api/v1/secrets/search', {
    callers: 'acs secret list, typescript-client',
    query: v1.secretSearchQuery,
    answers: { 200: pageOf(customSecret) },
    handle({ store }, { query: { limit, page_id: after = '', name__contains = '' } }) {
      const part = name__contains.toLowerCase();
      const found = store.secrets
        .list()
        .filter(({ name }) => name > after && name.toLowerCase().includes(part));
      return {
        items: found.slice(0, limit),
        next_page_id: found.length > limit ? found[limit - 1]?.name : null,
      };
    },
  }),
  route('POST /api/v1/secrets', {
    callers: 'acs secret set, typescript-client',
    body: v1.secretCreate,
    answers: { 201: message },
    handle({ store }, { body: { name, value, description } }) {
      store.secrets.put(name, value, description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    },
  }),
  route('PUT /api/v1/secrets/{secret_id}', {
    callers: 'typescript-client',
    body: v1.secretUpdate,
    answers: { 200: message, ...refused(400, 404) },
    handle({ store: { secrets } }, { path: { secret_id: id }, body: { name, description } }) {
      const before = secrets.get(id);
      if (before === null) throw refuse(404, `Secret with ID ${id} not found`);
      if (name !== id && secrets.get(name) !== null)
        throw refuse(400, `Secret ${name} already exists`);
      secrets.rename(id, name, description ?? before.description);
      return { message: 'Secret updated successfully' };
    },
  }),
  // Before the secrets: `git-providers` could be the name of one.
  route('DELETE /api/v1/secrets/git-providers', {
    callers: 'acs git-provider delete, acs settings unset',
    answers: { 200: message },
    handle: providersUnset,
  }),
  route('DELETE /api/v1/secrets/{secret_id}', {
    callers: 'acs secret delete, typescript-client',
    answers: { 200: message, ...refused(404) },
    handle({ store }, { path: { secret_id: id } }) {
      if (!store.secrets.remove(id)) throw refuse(404, `Secret with ID ${id} not found`);
      return { message: 'Secret deleted successfully' };
    },
  }),
  route('POST /api/v1/secrets/git-providers', {
    callers: 'acs git-provider set, acs git-provider delete, acs settings set',
    body: v0.gitProviders,
    answers: { 200: message },
    handle: providersStored((text) => refuse(401, text)),
  }),
  route('GET /api/v1/git/installations/search', {
    callers: 'typescript-client',
    query: v1.gitSearchQuery,
    answers: refused(400, 403, 501),
    handle(context, { query: { provider } }) {
      hostV1(context, provider);
      throw refuse(400, "Provider ProviderType.FORGEJO doesn't support installations");
    },
  }),
  route('GET /api/v1/git/repositories/search', {
    callers: 'acs repo list, typescript-client',
    query: v1.repositorySearchQuery,
    answers: { 200: pageOf(records.repository), ...refused(403, 501, 502) },
    handle: async (context, { query }) =>
      listPage(query, await hostV1(context, query.provider).repositories(query.query)),
  }),
  route('GET /api/v1/git/branches/search', {
    callers: 'acs repo branches, typescript-client',
    query: v1.branchSearchQuery,
    answers: { 200: pageOf(records.branch), ...refused(403, 501, 502) },
    handle: async (context, { query }) =>
      listPage(
        query,
        await hostV1(context, query.provider).branches(query.repository, query.query),
      ),
  }),
  route('GET /api/v1/git/suggested-tasks/search', {
    callers: 'acs git-provider list, typescript-client',
    query: v1.pageQuery,
    answers: { 200: pageOf(records.task), ...refused(403, 502) },
    handle: async ({ store }, { query }) =>
      listPage(query, (await searchedForgejo(store.documents, needsToken())?.tasks()) ?? []),
  }),
];

function providersStored(refusal: (text: string) => HttpError) {
  type Request = { body: v.InferOutput<typeof v0.gitProviders> };
  return async ({ store }: AppContext, { body }: Request) => {
    await storeProviders(store.documents, body, refusal);
    return { message: 'Git providers stored' };
  };
}

function providersUnset({ store }: AppContext) {
  store.documents.write('git_providers', {});
  return { message: 'Unset Git provider tokens' };
}

/** Over V0 the errors are bare strings, as on genuine servers. */
function hostV0({ store }: AppContext, noToken: string, provider: string | undefined): Forgejo {
  const host = searchedForgejo(store.documents, new HttpError(401, noToken), provider);
  if (host === null) throw new HttpError(501, ELSEWHERE);
  return host;
}

function hostV1({ store }: AppContext, provider: string): Forgejo {
  const host = searchedForgejo(store.documents, needsToken(), provider);
  if (host === null) throw refuse(501, ELSEWHERE);
  return host;
}

function needsToken(): HttpError {
  return refuse(403, 'Git provider token required (such as GitHub).');
}

function part<T>(list: readonly T[], page: number, size: number): T[] {
  return list.slice((page - 1) * size, page * size);
}
