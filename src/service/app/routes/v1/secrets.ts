/** Secrets and tokens of git providers (interface section 2.8). Values are never told. */
import { gitProviders } from '../../../../protocol/v0/requests.ts';
import { secretCreate, secretSearchQuery, secretUpdate } from '../../../../protocol/v1/requests.ts';
import { json, readJson, readQuery, refuse, refuseDetail } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { refusingProvider, replaceProviders, unknownProviders } from '../../settings/providers.ts';
import type { Route } from '../../route.ts';

export function secretRoutes({ store }: AppContext): Route[] {
  const { secrets, documents } = store;
  return [
    {
      method: 'POST',
      path: '/api/v1/secrets/git-providers',
      handle: async (c) => {
        const { provider_tokens: tokens } = await readJson(c, gitProviders);
        const wrong = unknownProviders(tokens ?? {});
        if (wrong.length > 0) throw refuseDetail(wrong);
        const refusing = await refusingProvider(tokens ?? {});
        if (refusing !== null) throw refuse(401, `Invalid token. Please make sure it is a valid ${refusing} token.`);
        replaceProviders(documents, tokens ?? {});
        return json({ message: 'Git providers stored' });
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/secrets/git-providers',
      handle: () => {
        replaceProviders(documents, {});
        return json({ message: 'Unset Git provider tokens' });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/secrets/search',
      handle: (c) => {
        const query = readQuery(c, secretSearchQuery);
        const wanted = (query.name__contains ?? '').toLowerCase();
        const after = query.page_id ?? '';
        const found = secrets.list().filter(({ name }) => name > after && name.toLowerCase().includes(wanted));
        const items = found.slice(0, query.limit);
        return json({ items, next_page_id: found.length > query.limit ? (items.at(-1)?.name ?? null) : null });
      },
    },
    {
      method: 'POST',
      path: '/api/v1/secrets',
      handle: async (c) => {
        const body = await readJson(c, secretCreate);
        secrets.put(body.name, body.value, body.description ?? '');
        return json({ message: 'Secret created successfully' }, 201);
      },
    },
    {
      method: 'PUT',
      path: '/api/v1/secrets/{secret_id}',
      handle: async (c) => {
        const id = c.req.param('secret_id') ?? '';
        const body = await readJson(c, secretUpdate);
        const before = secrets.get(id);
        if (before === null) throw refuse(404, `Secret with ID ${id} not found`);
        if (body.name !== id && secrets.get(body.name) !== null)
          throw refuse(400, `Secret ${body.name} already exists`);
        secrets.rename(id, body.name, body.description ?? before.description);
        return json({ message: 'Secret updated successfully' });
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/secrets/{secret_id}',
      handle: (c) => {
        const id = c.req.param('secret_id') ?? '';
        if (!secrets.remove(id)) throw refuse(404, `Secret with ID ${id} not found`);
        return json({ message: 'Secret deleted successfully' });
      },
    },
  ];
}
