/**
 * Looks a spec up before a sandbox is created from it.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `sandbox start --spec` and `conv new --spec` with an unknown spec exit 9 instead of 5: the server answers
 *           500 "Internal Server Error".
 * Evidence: interface 5.3; recordings exchanges-1.6.0.jsonl and exchanges-1.11.0.jsonl, sandbox.start.unknown-spec
 * Cost:     1 read of the specs, 2 where the spec is not on the first page
 * Remove:   unknown
 */
import type { Links } from '../links.ts';
import { getSpec } from '../v1/specs.ts';

/** Throws `not-found`. */
export async function refuseUnknownSpec(links: Links, id: string): Promise<void> {
  await getSpec(links, id);
}
