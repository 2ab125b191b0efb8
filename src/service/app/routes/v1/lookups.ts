/** Searches at git providers and among models (interface section 2.8). */
import { branchSearchQuery, configSearchQuery, gitSearchQuery, pageQuery } from '../../../../protocol/v1/requests.ts';
import { json, refuse } from '../../../http/answer.ts';
import { listPage, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import type { Forgejo } from '../../repositories/forgejo.ts';
import { searchedProvider, SEARCHES_FORGEJO } from '../../settings/providers.ts';
import { knownModels } from '../../settings/profiles.ts';

export function lookupHandlers({ store: { documents } }: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/v1/git/installations/search': (c) => {
      forgejoOf(readQuery(c, gitSearchQuery).provider);
      throw refuse(400, "Provider ProviderType.FORGEJO doesn't support installations");
    },
    'GET /api/v1/git/repositories/search': async (c) => {
      const query = readQuery(c, gitSearchQuery);
      return json(listPage(query, await forgejoOf(query.provider).repositories(c.req.query('query') ?? '')));
    },
    'GET /api/v1/git/branches/search': async (c) => {
      const query = readQuery(c, branchSearchQuery);
      return json(listPage(query, await forgejoOf(query.provider).branches(query.repository, query.query)));
    },
    'GET /api/v1/git/suggested-tasks/search': async (c) => {
      const query = readQuery(c, pageQuery);
      const found = searchedProvider(documents);
      if (found === 'no-token') throw refuse(403, 'Git provider token required (such as GitHub).');
      return json(listPage(query, found === 'elsewhere' ? [] : await found.tasks()));
    },
    'GET /api/v1/config/models/search': (c) => {
      const query = readQuery(c, configSearchQuery);
      const models = knownModels(documents).filter(includes(query.query)).map(modelRecord);
      return json(listPage(query, models));
    },
    'GET /api/v1/config/providers/search': (c) => {
      const query = readQuery(c, configSearchQuery);
      const names = knownModels(documents).flatMap((model) => modelRecord(model).provider ?? []);
      const providers = [...new Set(names)].filter(includes(query.query));
      return json(
        listPage(
          query,
          providers.map((name) => ({ name, verified: false })),
        ),
      );
    },
  };

  /** Only a Forgejo host is searched. */
  function forgejoOf(provider: string): Forgejo {
    const found = searchedProvider(documents, provider);
    if (found === 'no-token') throw refuse(403, 'Git provider token required (such as GitHub).');
    if (found === 'elsewhere') throw refuse(501, SEARCHES_FORGEJO);
    return found;
  }
}

function includes(wanted = ''): (name: string) => boolean {
  return (name) => name.toLowerCase().includes(wanted.toLowerCase());
}

function modelRecord(model: string) {
  const slash = model.indexOf('/');
  const provider = slash < 0 ? null : model.slice(0, slash);
  return { provider, name: model.slice(slash + 1), verified: false, hidden: false, canonical: null };
}
