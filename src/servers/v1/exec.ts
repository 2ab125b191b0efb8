/** Runs a program in a sandbox: over the socket of the local service, elsewhere over the bash routes of 7.5. */
import type { Program, ProgramStreams } from '../../domain/program.ts';
import { AppError } from '../../errors.ts';
import type { Links } from '../links.ts';
import { getSandbox } from './calls.ts';
import { agentUrlOf, workingDirOf } from './sandbox-agent.ts';

export async function execV1(links: Links, id: string, program: Program, streams: ProgramStreams): Promise<number> {
  const hasSocket = links.features.of('exec-socket') === 'present';
  if (!hasSocket && (streams.stdin !== null || program.terminal !== null)) {
    const what = program.terminal === null ? 'stdin of a program' : 'a terminal in a sandbox';
    throw new AppError('unsupported', `this server has no route for ${what}; the local service has`);
  }
  const record = await getSandbox(links, id);
  const server = { baseUrl: agentUrlOf(record, 'cannot run a program'), key: record.session_api_key };
  if (hasSocket) {
    const { execOverSocket } = await import('../agent-server/exec-socket.ts');
    return await execOverSocket(links, server, program, streams);
  }
  const { execOverBash } = await import('../agent-server/exec-bash.ts');
  return await execOverBash(links, server, { program, streams, workingDir: await workingDirOf(links, record) });
}
