import type { WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { createFaultRules } from '../faults/rules.ts';
import { createHttpServer, dropServer, listenPreferring, portOf } from '../http/server.ts';
import { openStore, type Store } from '../storage/index.ts';
import { createAgentApp } from './app.ts';
import { BashService } from './bash.ts';
import type { AgentContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { Sockets } from './sockets.ts';

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

export async function startWorker(
  config: WorkerConfig,
  notify: (notice: WorkerNotice) => void,
  edges: Pick<AgentContext, 'sandbox' | 'version' | 'nowMicroseconds' | 'log'>,
) {
  const { sandbox, nowMicroseconds } = edges;
  let store: Store | null = null;
  const userStore = (): Store => (store ??= openStore(config.database));
  const own = { ...edges, config, userStore, notify };
  const conversations = new Conversations(own);
  const now = nowMicroseconds();
  const context: AgentContext = {
    ...own,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    setUpLimit: new AbortController(),
    startedAt: now,
    lastUse: now,
    faultRules: createFaultRules(config.faults, edges.log),
  };
  const sockets = new Sockets(context);
  const server = createHttpServer(createAgentApp(context).fetch);
  server.on('upgrade', sockets.upgrade);
  // A paused worker keeps its port: another sandbox could take it, and receive keys of clients.
  let isPaused = false;
  server.prependListener('connection', (socket) => {
    if (isPaused) socket.destroy();
  });
  await listenPreferring(server, '127.0.0.1', config.port ?? 0);
  /** Each returns the type of its answer. */
  const commands = {
    async pause() {
      await sandbox.freeze();
      isPaused = true;
      sockets.close();
      server.closeAllConnections();
      return 'paused' as const;
    },
    evict: () =>
      conversations.withStatus('running').length > 0 ? ('busy' as const) : commands.pause(),
    resume() {
      context.setUpLimit = new AbortController();
      sandbox.thaw();
      isPaused = false;
      return 'resumed' as const;
    },
    'end-setup'() {
      context.setUpLimit.abort();
      return 'setup-ended' as const;
    },
    /** Ends every process inside and closes the logs; runs in progress are paused in them. */
    async stop() {
      for (const { loop } of conversations.all()) loop.halt();
      sockets.close();
      await Promise.all([dropServer(server), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
      store?.close();
      return 'stopped' as const;
    },
  };
  return { port: portOf(server), commands };
}
