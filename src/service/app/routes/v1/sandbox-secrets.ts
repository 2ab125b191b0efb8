/**
 * The secrets of the user, read from inside a sandbox with the sandbox's own key (interface section 5.5): the key of the
 * service is not known there, so these routes have a door of their own.
 */
import type { Context } from 'hono';
import { isKey } from '../../../http/guard.ts';
import { json, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { readProviders } from '../../settings/providers.ts';
import type { Route } from '../../route.ts';

const PATH = '/api/v1/sandboxes/{sandbox_id}/settings/secrets';

export function sandboxSecretRoutes(context: AppContext): Route[] {
  const { secrets, documents } = context.store;
  // What the user named so counts before the token of a provider.
  const tokens = (): [name: string, token: string][] =>
    Object.entries(readProviders(documents))
      .map(([provider, { token }]): [string, string] => [`${provider}_token`, token])
      .filter(([name]) => secrets.get(name) === null);
  return [
    {
      method: 'GET',
      path: PATH,
      isOpen: true,
      handle: (c) => {
        refuseForeign(context, c);
        const provided = tokens().map(([name]) => ({ name, description: 'Token of a git provider' }));
        return json({ secrets: [...secrets.list(), ...provided] });
      },
    },
    {
      method: 'GET',
      path: `${PATH}/{secret_name}`,
      isOpen: true,
      handle: (c) => {
        refuseForeign(context, c);
        const name = c.req.param('secret_name') ?? '';
        const value = new Map([...tokens(), ...Object.entries(secrets.values())]).get(name);
        if (value === undefined) throw refuse(404, 'Secret not found');
        return new Response(value, { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
      },
    },
  ];
}

/** Lets in the running sandbox that the path names, by its key. */
function refuseForeign({ store }: AppContext, c: Context): void {
  const given = c.req.header('x-session-api-key');
  if (given === undefined) throw refuse(401, 'X-Session-API-Key header is required');
  const sandbox = store.sandboxes.all().find(({ session_api_key: key }) => isKey(given, key));
  if (sandbox === undefined) throw refuse(401, 'Invalid session API key');
  if (sandbox.status !== 'RUNNING') throw refuse(401, 'Sandbox is not running');
  if (sandbox.id !== c.req.param('sandbox_id')) throw refuse(403, 'Session API key does not match sandbox');
}
