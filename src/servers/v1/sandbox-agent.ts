/** From the record of a sandbox to its agent server and its workspace. */
import { AppError, isAppError } from '../../errors.ts';
import type { SandboxRecord } from '../../protocol/v1/records.ts';
import type { Links } from '../links.ts';
import { getSpec } from './specs.ts';

/** Null where the spec of the sandbox is not listed any more. */
export async function workingDirOf(links: Links, { sandbox_spec_id: spec }: SandboxRecord): Promise<string | null> {
  if (spec === null) return null;
  try {
    return (await getSpec(links, spec)).record.working_dir;
  } catch (error) {
    if (isAppError(error) && ['not-found', 'unsupported'].includes(error.kind)) return null;
    throw error;
  }
}

/**
 * Throws `conflict` when the sandbox does not run.
 * @param cannot what cannot be done then: `cannot run a program`
 */
export function agentUrlOf({ id, status, exposed_urls: urls }: SandboxRecord, cannot: string): string {
  const url = urls.find(({ name }) => name === 'AGENT_SERVER')?.url;
  if (status === 'RUNNING' && url !== undefined && /^https?:\/\//.test(url)) return url;
  const state =
    status === 'RUNNING' ? 'its record has no address of its agent server' : `it is ${status.toLowerCase()}`;
  throw new AppError('conflict', `sandbox ${id} ${cannot}: ${state}`, {
    hint: `see its state: acs sandbox show ${id}`,
    data: { id, sandbox_status: status.toLowerCase() },
  });
}
