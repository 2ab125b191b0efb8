/** The user and the organization that a key belongs to. */
import { isRecord } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { readMe } from '../quirks/unreadable-account.ts';
import type { Account } from '../server.ts';

/** A self-hosted server has no users: all members are null there. */
export async function accountV1(links: Links, facts: ProbeFacts): Promise<Account> {
  const me = await readMe(links);
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
