/** The files of a sandbox, through its agent server. */
import type { SandboxFiles } from '../../domain/sandbox-files.ts';
import { AppError, isNotFound } from '../../errors.ts';
import type { SandboxRecord } from '../../protocol/v1/records.ts';
import { createSandboxFiles } from '../agent-server/files.ts';
import type { Links } from '../links.ts';
import { getSandbox } from './calls.ts';
import { getSpec } from './specs.ts';

export async function openFiles(links: Links, id: string): Promise<SandboxFiles> {
  const record = await getSandbox(links, id);
  const agent = links.agent(agentUrlOf(record), record.session_api_key);
  return createSandboxFiles(links, agent, () => workingDirOf(links, record));
}

/** Null where the spec names no folder of its own: then the agent server runs in the workspace. */
async function workingDirOf(links: Links, { sandbox_spec_id: id }: SandboxRecord): Promise<string | null> {
  if (id === null) return null;
  try {
    const { working_dir: folder } = (await getSpec(links, id)).record;
    return folder?.startsWith('/') ? folder : null;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** Throws `conflict` when the sandbox does not run. */
function agentUrlOf({ id, status, exposed_urls: urls }: SandboxRecord): string {
  const url = urls.find(({ name }) => name === 'AGENT_SERVER')?.url;
  if (status === 'RUNNING' && url !== undefined && /^https?:\/\//.test(url)) return url;
  const state =
    status === 'RUNNING' ? 'its record has no address of its agent server' : `it is ${status.toLowerCase()}`;
  throw new AppError('conflict', `the files of sandbox ${id} cannot be reached: ${state}`, {
    hint: `see its state: acs sandbox show ${id}`,
    data: { id, sandbox_status: status.toLowerCase() },
  });
}
