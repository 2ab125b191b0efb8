/** Secrets and tokens of git providers (interface section 2.4). Values are never told. */
import { gitProviders, secretCreate, secretUpdate } from '../../../../protocol/v0/requests.ts';
import { HttpAnswer, json, readJson, refuseDetail } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { refusingProvider, replaceProviders, unknownProviders } from '../../settings/providers.ts';
import type { Route } from '../../route.ts';

export function secretRoutes({ store }: AppContext): Route[] {
  const { secrets, documents } = store;
  const exists = (name: string): HttpAnswer => new HttpAnswer(400, { message: `Secret ${name} already exists` });
  const invalid = (provider: string): HttpAnswer =>
    new HttpAnswer(401, { error: `Invalid token. Please make sure it is a valid ${provider} token.` });
  const unknown = (id: string): HttpAnswer => new HttpAnswer(404, { error: `Secret with ID ${id} not found` });
  return [
    {
      method: 'POST',
      path: '/api/add-git-providers',
      handle: async (c) => {
        const { provider_tokens: tokens } = await readJson(c, gitProviders);
        const wrong = unknownProviders(tokens ?? {});
        if (wrong.length > 0) throw refuseDetail(wrong);
        const refusing = await refusingProvider(tokens ?? {});
        if (refusing !== null) throw invalid(refusing);
        replaceProviders(documents, tokens ?? {});
        return json({ message: 'Git providers stored' });
      },
    },
    {
      method: 'POST',
      path: '/api/unset-provider-tokens',
      handle: () => {
        replaceProviders(documents, {});
        return json({ message: 'Unset Git provider tokens' });
      },
    },
    { method: 'GET', path: '/api/secrets', handle: () => json({ custom_secrets: secrets.list() }) },
    {
      method: 'POST',
      path: '/api/secrets',
      handle: async (c) => {
        const body = await readJson(c, secretCreate);
        if (secrets.get(body.name) !== null) throw exists(body.name);
        secrets.put(body.name, body.value, body.description ?? '');
        return json({ message: 'Secret created successfully' }, 201);
      },
    },
    {
      method: 'PUT',
      path: '/api/secrets/{secret_id}',
      handle: async (c) => {
        const id = c.req.param('secret_id') ?? '';
        const body = await readJson(c, secretUpdate);
        const before = secrets.get(id);
        if (before === null) throw unknown(id);
        if (body.name !== id && secrets.get(body.name) !== null) throw exists(body.name);
        secrets.rename(id, body.name, body.description ?? before.description);
        return json({ message: 'Secret updated successfully' });
      },
    },
    {
      method: 'DELETE',
      path: '/api/secrets/{secret_id}',
      handle: (c) => {
        const id = c.req.param('secret_id') ?? '';
        if (!secrets.remove(id)) throw unknown(id);
        return json({ message: 'Secret deleted successfully' });
      },
    },
  ];
}
