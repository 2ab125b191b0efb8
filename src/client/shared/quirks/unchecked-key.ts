/**
 * Names a route that refuses a wrong key; what another route answers proves nothing.
 *
 * Servers:  openhands-ai 1.4.0; 1.6.0 accepted a wrong key over V1 in some runs and refused it in
 *           its recording
 * Symptom:  with a wrong key `acs whoami` exits 0, and a later 401 is reported as a missing
 *           permission.
 * Evidence: interface 13 "Keys"; recording exchanges-1.6.0.jsonl, auth.wrong;
 *           test/client/key-error.test.ts
 * Cost:     0 requests; `whoami`, `login`, `doctor` and a 401 check the key by one request, which
 *           is sent to a route of V0 here
 * Remove:   when servers with V0 are no longer supported
 */
import type { Dialect } from '../../../domain/conversation.ts';

export function keyCheckingRoute(dialects: readonly Dialect[]): string {
  if (dialects.includes('v0')) return '/api/options/config';
  return dialects.includes('agent')
    ? '/api/conversations/count'
    : '/api/v1/app-conversations/count';
}
