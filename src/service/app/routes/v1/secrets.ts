/** Secrets and tokens of git providers (interface section 2.8). Values are not part of any answer. */
import { gitProviders } from '../../../../protocol/v0/requests.ts';
import { secretCreate, secretSearchQuery, secretUpdate } from '../../../../protocol/v1/requests.ts';
import { json, refuse } from '../../../http/answer.ts';
import { readJson, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { replaceProviders, storeProviders } from '../../settings/providers.ts';

export function secretHandlers({ store: { secrets, documents } }: AppContext): Handlers<AppRoute> {
  return {
    'POST /api/v1/secrets/git-providers': async (c) => {
      const { provider_tokens: tokens } = await readJson(c, gitProviders);
      await storeProviders(documents, tokens ?? {}, (text) => refuse(401, text));
      return json({ message: 'Git providers stored' });
    },
    'DELETE /api/v1/secrets/git-providers': () => {
      replaceProviders(documents, {});
      return json({ message: 'Unset Git provider tokens' });
    },
    'GET /api/v1/secrets/search': (c) => {
      const query = readQuery(c, secretSearchQuery);
      const wanted = (query.name__contains ?? '').toLowerCase();
      const after = query.page_id ?? '';
      const found = secrets.list().filter(({ name }) => name > after && name.toLowerCase().includes(wanted));
      const items = found.slice(0, query.limit);
      return json({ items, next_page_id: found.length > query.limit ? (items.at(-1)?.name ?? null) : null });
    },
    'POST /api/v1/secrets': async (c) => {
      const body = await readJson(c, secretCreate);
      secrets.put(body.name, body.value, body.description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    },
    'PUT /api/v1/secrets/{secret_id}': async (c) => {
      const id = c.req.param('secret_id') ?? '';
      const body = await readJson(c, secretUpdate);
      const before = secrets.get(id);
      if (before === null) throw refuse(404, `Secret with ID ${id} not found`);
      if (body.name !== id && secrets.get(body.name) !== null) throw refuse(400, `Secret ${body.name} already exists`);
      secrets.rename(id, body.name, body.description ?? before.description);
      return json({ message: 'Secret updated successfully' });
    },
    'DELETE /api/v1/secrets/{secret_id}': (c) => {
      const id = c.req.param('secret_id') ?? '';
      if (!secrets.remove(id)) throw refuse(404, `Secret with ID ${id} not found`);
      return json({ message: 'Secret deleted successfully' });
    },
  };
}
