/** The secrets of the user, read from inside a sandbox with the key of that sandbox (interface section 5.5). */
import type { Context } from 'hono';
import { isKey } from '../../../http/guard.ts';
import { json, refuse } from '../../../http/answer.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { readProviders } from '../../settings/providers.ts';

export function sandboxSecretHandlers(context: AppContext): Handlers<AppRoute> {
  const { secrets, documents } = context.store;
  // A secret of the user with that name comes before the token of a provider.
  const tokens = (): [name: string, token: string][] =>
    Object.entries(readProviders(documents))
      .map(([provider, { token }]): [string, string] => [`${provider}_token`, token])
      .filter(([name]) => secrets.get(name) === null);
  return {
    'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets': (c) => {
      requireSandboxKey(context, c);
      const provided = tokens().map(([name]) => ({ name, description: 'Token of a git provider' }));
      return json({ secrets: [...secrets.list(), ...provided] });
    },
    'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}': (c) => {
      requireSandboxKey(context, c);
      const name = c.req.param('secret_name') ?? '';
      const value = new Map([...tokens(), ...Object.entries(secrets.values())]).get(name);
      if (value === undefined) throw refuse(404, 'Secret not found');
      return new Response(value, { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
    },
  };
}

/** The key must be that of the sandbox in the path, and the sandbox must run. */
function requireSandboxKey({ store }: AppContext, c: Context): void {
  const given = c.req.header('x-session-api-key');
  if (given === undefined) throw refuse(401, 'X-Session-API-Key header is required');
  const sandbox = store.sandboxes.all().find(({ session_api_key: key }) => isKey(given, key));
  if (sandbox === undefined) throw refuse(401, 'Invalid session API key');
  if (sandbox.status !== 'RUNNING') throw refuse(401, 'Sandbox is not running');
  if (sandbox.id !== c.req.param('sandbox_id')) throw refuse(403, 'Session API key does not match sandbox');
}
