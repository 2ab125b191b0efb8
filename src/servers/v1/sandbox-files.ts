/** The files of a sandbox, through its agent server. */
import type { SandboxFiles } from '../../domain/sandbox-files.ts';
import { createSandboxFiles } from '../agent-server/files.ts';
import type { Links } from '../links.ts';
import { getSandbox } from './calls.ts';
import { agentUrlOf, workingDirOf } from './sandbox-agent.ts';

export async function openFiles(links: Links, id: string): Promise<SandboxFiles> {
  const record = await getSandbox(links, id);
  const agent = links.agent(agentUrlOf(record, 'has no files that can be copied'), record.session_api_key);
  return createSandboxFiles(links, agent, async () => {
    const folder = await workingDirOf(links, record);
    // A relative one is that of the agent server.
    return folder?.startsWith('/') === true ? folder : null;
  });
}
