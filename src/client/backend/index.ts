/** An agent server as the server: Agent Canvas backends (interface 14). */
import { AppError } from '../../base/errors.ts';
import { noConversation, normalId } from '../../domain/ids.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import { deferred, forward } from '../shared/compose.ts';
import type { Links } from '../shared/links.ts';
import type { Adapter } from '../shared/server.ts';
import { find, ownMachine, search } from './calls.ts';
import { toConversation } from './records.ts';
import { readFolder, routesOf, type Folders } from './folder.ts';

export function createBackend(links: Links): Adapter {
  const folders: Folders = new Map();
  const kept = (record: AgentConversationRecord) => {
    folders.set(normalId(record.id), readFolder(record));
    return toConversation(links, record);
  };
  const finding: Pick<Adapter['conversations'], 'list' | 'get'> = {
    async list(query, page) {
      const { items, next } = await search(links, query, page);
      return { items: items.map(kept), next };
    },
    async get(id) {
      const record = await find(links, id);
      if (record === null) throw noConversation(id);
      return kept(record);
    },
  };
  return {
    account: () => Promise.resolve({ user: null, email: null, organization: null }),
    conversations: deferred(
      async () =>
        (await import('./conversations.ts')).createBackendConversations(links, finding, folders),
      finding,
    ),
    sandboxes: forward(() => Promise.reject(ownMachine()), {
      async exec(id, program, streams) {
        if (streams.stdin !== null || program.terminal !== null)
          throw new AppError('unsupported', 'this server has no route for stdin or a terminal');
        const { execOverBash } = await import('../agent-server/exec-bash.ts');
        const exec = { program, streams, workingDir: null };
        return await execOverBash(links, routesOf(links, id), exec);
      },
      async files(id) {
        const { AgentFiles } = await import('../agent-server/files.ts');
        return new AgentFiles(links, routesOf(links, id), () => Promise.resolve(null));
      },
    }),
    specs: forward(() => Promise.reject(ownMachine())),
    settings: deferred(async () => (await import('./settings.ts')).createBackendSettings(links)),
    secrets: deferred(async () => (await import('./secrets.ts')).createBackendSecrets(links)),
    git: forward(() => {
      const message =
        'this server has no git providers: git on its machine uses its own credentials';
      throw new AppError('unsupported', message);
    }),
    modelProfiles: deferred(async () =>
      (await import('./settings.ts')).createBackendProfiles(links),
    ),
  };
}
