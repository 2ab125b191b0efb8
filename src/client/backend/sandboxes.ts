/** Programs and files on the machine of the server, by the id of a conversation. */
import { AppError } from '../../base/errors.ts';
import { AgentFiles } from '../agent-server/files.ts';
import { forward } from '../shared/compose.ts';
import type { Links } from '../shared/links.ts';
import type { Adapter } from '../shared/server.ts';
import { ownMachine } from './absent.ts';
import { routesOf } from './folder.ts';

export function createBackendSandboxes(links: Links): Adapter['sandboxes'] {
  return forward<Adapter['sandboxes']>(() => Promise.reject(ownMachine()), {
    async exec(id, program, streams) {
      if (streams.stdin !== null || program.terminal !== null)
        throw new AppError('unsupported', 'this server has no route for stdin or a terminal');
      const { execOverBash } = await import('../agent-server/exec-bash.ts');
      const exec = { program, streams, workingDir: null };
      return await execOverBash(links, routesOf(links, id), exec);
    },
    files: (id) =>
      Promise.resolve(new AgentFiles(links, routesOf(links, id), () => Promise.resolve(null))),
  });
}
