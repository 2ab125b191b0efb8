/** Runs a program in a sandbox: over the socket of the local service, elsewhere over the bash routes of 7.5. */
import type { Program, ProgramStreams } from '../../domain/program.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { SandboxRecord } from '../../protocol/v1/records.ts';
import type { Links } from '../links.ts';
import { getSandbox } from './calls.ts';
import { getSpec } from './specs.ts';

export async function execV1(links: Links, id: string, program: Program, streams: ProgramStreams): Promise<number> {
  const hasSocket = links.features.of('exec-socket') === 'present';
  if (!hasSocket && (streams.stdin !== null || program.terminal !== null)) {
    const what = program.terminal === null ? 'stdin of a program' : 'a terminal in a sandbox';
    throw new AppError('unsupported', `this server has no route for ${what}; the local service has`);
  }
  const record = await getSandbox(links, id);
  const server = { baseUrl: agentUrlOf(record), key: record.session_api_key };
  if (hasSocket) {
    const { execOverSocket } = await import('../agent-server/exec-socket.ts');
    return await execOverSocket(links, server, program, streams);
  }
  const { execOverBash } = await import('../agent-server/exec-bash.ts');
  return await execOverBash(links, server, { program, streams, workingDir: await workingDirOf(links, record) });
}

/** Null where the spec of the sandbox is not listed any more. */
async function workingDirOf(links: Links, { sandbox_spec_id: spec }: SandboxRecord): Promise<string | null> {
  if (spec === null) return null;
  try {
    return (await getSpec(links, spec)).record.working_dir;
  } catch (error) {
    if (isAppError(error) && ['not-found', 'unsupported'].includes(error.kind)) return null;
    throw error;
  }
}

/** Throws `conflict` when the sandbox does not run. */
function agentUrlOf({ id, status, exposed_urls: urls }: SandboxRecord): string {
  const url = urls.find(({ name }) => name === 'AGENT_SERVER')?.url;
  if (status === 'RUNNING' && url !== undefined && /^https?:\/\//.test(url)) return url;
  const state =
    status === 'RUNNING' ? 'its record has no address of its agent server' : `it is ${status.toLowerCase()}`;
  throw new AppError('conflict', `sandbox ${id} cannot run a program: ${state}`, {
    hint: `see its state: acs sandbox show ${id}`,
    data: { id, sandbox_status: status.toLowerCase() },
  });
}
