import * as v from 'valibot';
import { llm } from '../../protocol/agent-server/requests.ts';
import type { WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { createFaultRules } from '../faults/rules.ts';
import { createHttpServer, dropServer, listenPreferring, portOf } from '../http/server.ts';
import { readSettings } from '../settings/settings.ts';
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
  const conversations = new Conversations({
    eventsDir: config.events_dir,
    defaultReplay: config.default_replay ?? null,
    llmOfSettings: () => v.parse(llm, readSettings(userStore().documents).agent.llm ?? {}),
    sandbox,
    isIsolated: config.spec !== 'process',
    nowMicroseconds,
    notify,
  });
  const now = nowMicroseconds();
  const context: AgentContext = {
    ...edges,
    config,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    setUpLimit: new AbortController(),
    userStore,
    startedAt: now,
    lastUse: now,
    faultRules: createFaultRules(config.faults ?? [], edges.log),
  };
  const sockets = new Sockets(context, (count) => notify({ type: 'subscribers', count }));
  const server = createHttpServer(createAgentApp(context).fetch);
  server.on('upgrade', sockets.upgrade);
  // A paused worker keeps its port: another sandbox could take it, and receive keys of clients.
  let isPaused = false;
  server.prependListener('connection', (socket) => {
    if (isPaused) socket.destroy();
  });
  await listenPreferring(server, '127.0.0.1', config.port ?? 0);
  return {
    port: portOf(server),
    hasRun: () => conversations.withStatus('running').length > 0,
    async pause() {
      await sandbox.freeze();
      isPaused = true;
      sockets.close();
      server.closeAllConnections();
    },
    endSetUp: () => context.setUpLimit.abort(),
    resume() {
      context.setUpLimit = new AbortController();
      sandbox.thaw();
      isPaused = false;
    },
    /** Ends every process inside and closes the logs; runs in progress are paused in them. */
    async stop() {
      for (const { loop } of conversations.all()) loop.halt();
      sockets.close();
      await Promise.all([dropServer(server), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
      store?.close();
    },
  };
}
