/** Searches at git providers and among models (interface section 2.8): answered with what this service knows. */
import type { Context } from 'hono';
import { branchSearchQuery, configSearchQuery, gitSearchQuery, pageQuery } from '../../../../protocol/v1/requests.ts';
import { type HttpAnswer, json, offsetPage, readQuery, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { knownModels } from '../../settings/models.ts';
import type { Forgejo } from '../../repositories/forgejo.ts';
import { connectedForgejo, readProviders } from '../../settings/providers.ts';
import { answered } from '../providers.ts';
import type { Route } from '../../route.ts';

export function lookupRoutes(context: AppContext): Route[] {
  return [...providerRoutes(context), ...configRoutes(context)];
}

/** What the user has at a git provider; only a Forgejo host is asked. */
function providerRoutes({ store }: AppContext): Route[] {
  const refusal = (): HttpAnswer => {
    const hasToken = Object.keys(readProviders(store.documents)).length > 0;
    return refuse(
      403,
      hasToken
        ? 'The local service clones with this token but searches at Forgejo hosts only.'
        : 'Git provider token required (such as GitHub).',
    );
  };
  const at = (path: string, handle: (c: Context) => Promise<unknown>): Route => ({
    method: 'GET',
    path: `/api/v1/git/${path}/search`,
    handle: async (c) => json(await handle(c)),
  });
  const forgejo = (provider: string): Forgejo => {
    const found = provider === 'forgejo' ? connectedForgejo(store.documents) : null;
    if (found === null) throw refusal();
    return found;
  };
  return [
    at('installations', (c) => {
      forgejo(readQuery(c, gitSearchQuery).provider);
      throw refuse(400, "Provider ProviderType.FORGEJO doesn't support installations");
    }),
    at('repositories', async (c) => {
      const query = readQuery(c, gitSearchQuery);
      const found = await answered(forgejo(query.provider).repositories(c.req.query('query') ?? ''));
      return offsetPage(query.limit, query.page_id, (limit, offset) => found.slice(offset, offset + limit));
    }),
    at('branches', async (c) => {
      const query = readQuery(c, branchSearchQuery);
      const found = await answered(forgejo(query.provider).branches(query.repository, query.query));
      return offsetPage(query.limit, query.page_id, (limit, offset) => found.slice(offset, offset + limit));
    }),
    at('suggested-tasks', async (c) => {
      const query = readQuery(c, pageQuery);
      const found = await answered(forgejo('forgejo').tasks());
      return offsetPage(query.limit, query.page_id, (limit, offset) => found.slice(offset, offset + limit));
    }),
  ];
}

function configRoutes(context: AppContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/config/models/search',
      handle: (c) => {
        const models = knownModels(context.store.documents).map((model) => {
          const slash = model.indexOf('/');
          const provider = slash < 0 ? null : model.slice(0, slash);
          return { provider, name: model.slice(slash + 1), verified: false, hidden: false, canonical: null };
        });
        return json(search(c, models, (model) => `${model.provider ?? ''}/${model.name}`));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/config/providers/search',
      handle: (c) => {
        const names = knownModels(context.store.documents).flatMap((model) =>
          model.includes('/') ? [model.split('/')[0]] : [],
        );
        const providers = [...new Set(names)].map((name) => ({ name: name ?? '', verified: false }));
        return json(search(c, providers, (provider) => provider.name));
      },
    },
  ];
}

function search<Item>(c: Context, items: Item[], textOfItem: (item: Item) => string) {
  const query = readQuery(c, configSearchQuery);
  const wanted = (query.query ?? '').toLowerCase();
  const found = items.filter((item) => textOfItem(item).toLowerCase().includes(wanted));
  return offsetPage(query.limit, query.page_id, (limit, offset) => found.slice(offset, offset + limit));
}
