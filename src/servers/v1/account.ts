/** Who the server takes the key for. */
import { isRecord } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Account } from '../server.ts';

/** `users/me` is 500 on release 1.6.0 while no settings are stored, and anonymous on a self-hosted server. */
export async function accountV1(links: Links, facts: ProbeFacts): Promise<Account> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/users/me',
    safe: 'read',
    accept: [404, 405, 500],
  });
  const me = answer.status === 200 && isRecord(answer.body) ? answer.body : {};
  const organization = facts.flavour === 'cloud' ? await currentOrganization(links) : null;
  const text = (name: string): string | null => (typeof me[name] === 'string' && me[name] !== '' ? me[name] : null);
  return { user: text('id'), email: text('email') ?? text('git_user_email'), organization };
}

async function currentOrganization(links: Links): Promise<string | null> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/keys/current',
    safe: 'read',
    accept: [400, 401, 403, 404, 405, 500],
  });
  const organization = isRecord(answer.body) ? answer.body['org_id'] : null;
  return typeof organization === 'string' ? organization : null;
}
