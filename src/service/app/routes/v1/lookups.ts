/** Searches at git providers and among models (interface section 2.8): answered with what this service knows. */
import type { Context } from 'hono';
import { branchSearchQuery, configSearchQuery, gitSearchQuery, pageQuery } from '../../../../protocol/v1/requests.ts';
import { json, offsetPage, readQuery, refuse } from '../../answers.ts';
import type { Route } from '../../app.ts';
import type { AppContext } from '../../context.ts';
import { knownModels } from '../../settings/models.ts';
import { readProviders } from '../../settings/providers.ts';

export function lookupRoutes(context: AppContext): Route[] {
  const atProvider = (path: string, schema: Parameters<typeof readQuery>[1]): Route => ({
    method: 'GET',
    path: `/api/v1/git/${path}/search`,
    handle: (c: Context) => {
      readQuery(c, schema);
      const hasToken = Object.keys(readProviders(context.store.documents)).length > 0;
      throw refuse(
        403,
        hasToken
          ? 'The local service clones with this token but does not search at git providers.'
          : 'Git provider token required (such as GitHub).',
      );
    },
  });
  return [
    atProvider('installations', gitSearchQuery),
    atProvider('repositories', gitSearchQuery),
    atProvider('branches', branchSearchQuery),
    atProvider('suggested-tasks', pageQuery),
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
