import * as v from 'valibot';
import { llm } from '../../protocol/agent-server/requests.ts';
import { readSettings } from '../settings/settings.ts';
import { createFaultRules } from '../faults/rules.ts';
import { createHttpServer, dropServer, listenPreferring, portOf } from '../http/server.ts';
import type { WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { openStore, type Store } from '../storage/index.ts';
import { createAgentApp } from './app.ts';
import { BashService } from './bash.ts';
import type { WorkerContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { Sockets } from './sockets.ts';

export interface RunningWorker {
  port: number;
  workingDir: string;
  /** Whether a run is in progress. */
  isBusy: () => boolean;
  pause: () => Promise<void>;
  resume: () => void;
  /** Ends every process inside and closes the logs; runs under way are paused in them. */
  stop: () => Promise<void>;
}

export async function startWorker({
  config,
  notify,
  ...options
}: Pick<WorkerContext, 'sandbox' | 'version' | 'nowMicroseconds' | 'log'> & {
  config: WorkerConfig;
  notify: (notice: WorkerNotice) => void;
}): Promise<RunningWorker> {
  const { sandbox, nowMicroseconds, log } = options;
  const { events_dir: eventsDir, default_replay: defaultReplay = null, faults = [] } = config;
  let store: Store | null = null;
  const userStore = (): Store => (store ??= openStore(config.database));
  const llmOfSettings = () => v.parse(llm, readSettings(userStore().documents).agent.llm ?? {});
  const rest = { sandbox, nowMicroseconds, notify };
  const conversations = new Conversations({ eventsDir, defaultReplay, llmOfSettings, ...rest });
  const { workingDir } = await sandbox.folders();
  const context: WorkerContext = {
    ...options,
    root: config.root,
    mayRunModels: config.fell_back !== true,
    sessionApiKey: config.session_api_key,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    userStore,
    faultRules: faults.length === 0 ? null : createFaultRules(faults, log),
  };
  const sockets = new Sockets(context, (count) => {
    notify({ type: 'subscribers', count });
  });
  const app = createAgentApp(context);
  const server = createHttpServer(app.fetch);
  server.on('upgrade', sockets.upgrade);
  // A paused worker keeps its port: on a shared network another sandbox could take it, and receive
  // the key from a client.
  let isPaused = false;
  server.prependListener('connection', (socket) => {
    if (isPaused) socket.destroy();
  });
  await listenPreferring(server, '127.0.0.1', config.port ?? 0);
  const port = portOf(server);
  return {
    port,
    workingDir,
    isBusy: () =>
      conversations
        .all()
        .some(({ conversation }) => conversation.state.execution_status === 'running'),
    pause: async () => {
      await sandbox.freeze();
      isPaused = true;
      sockets.close();
      server.closeAllConnections();
    },
    resume: () => {
      sandbox.thaw();
      isPaused = false;
    },
    stop: async () => {
      for (const { loop } of conversations.all()) loop.halt();
      sockets.close();
      await Promise.all([dropServer(server), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
      store?.close();
    },
  };
}
