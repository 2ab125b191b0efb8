/**
 * A scripted V0 server for command tests, with one conversation, V0_ID, whose record and events a
 * test sets.
 */
import { beforeEach } from 'vitest';
import { createV0Server, type V0Server } from '../client/support/v0-server.ts';
import { useWorld, type Suite, type SuiteOptions } from './use-world.ts';

export {
  happens,
  older,
  stateChanges,
  userSays,
  V0_ID,
  type V0Server,
} from '../client/support/v0-server.ts';

/** For the enclosing suite. Each test begins with a conversation without events. */
export function useV0(
  options: Pick<SuiteOptions, 'clock' | 'noun'> = {},
): Suite & { readonly v0: V0Server } {
  let v0: V0Server;
  const at = useWorld({ ...options, script: (asked) => v0.handler(asked) });
  beforeEach(() => {
    v0 = createV0Server();
  });
  return Object.defineProperty(at, 'v0', { get: () => v0 }) as Suite & { readonly v0: V0Server };
}
