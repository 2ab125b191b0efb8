/**
 * Reads the user of the key; a 500 means that the server has no record of one.
 *
 * Servers:  openhands-ai 1.6.0
 * Symptom:  `acs whoami` exits 9 until settings are stored: `users/me` is 500 before.
 * Evidence: interface 2.5; test/servers/v1/account.test.ts
 * Cost:     0 requests
 * Remove:   when servers before 1.11.0 are no longer supported
 */
import { isRecord, type Json } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';

export async function readMe(links: Links): Promise<Json> {
  const call = { method: 'GET', path: '/api/v1/users/me', safe: 'read', accept: [404, 405, 500] } as const;
  const { status, body } = await links.app.request(call);
  return status === 200 && isRecord(body) ? body : {};
}
