import type { Server } from 'node:http';
import { createFaultRules } from '../faults/rules.ts';
import { createHttpServer, dropServer, listenPreferring, portOf } from '../http/server.ts';
import type { WorkerConfig, WorkerNotice } from '../sandboxes/worker-protocol.ts';
import { openStore, type Store } from '../storage/index.ts';
import { createAgentApp } from './app.ts';
import { BashService } from './bash.ts';
import type { WorkerContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { Sockets } from './sockets.ts';

export interface RunningWorker {
  port: number;
  workingDir: string;
  pause: () => Promise<void>;
  resume: () => Promise<number>;
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
  const conversations = new Conversations({ eventsDir, defaultReplay, sandbox, nowMicroseconds, notify });
  const { workingDir } = await sandbox.folders();
  let store: Store | null = null;
  const context: WorkerContext = {
    ...options,
    sessionApiKey: config.session_api_key,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    userStore: () => (store ??= openStore(config.database)),
    faultRules: faults.length === 0 ? null : createFaultRules(faults, log),
  };
  const sockets = new Sockets(context, (count) => {
    notify({ type: 'subscribers', count });
  });
  const app = createAgentApp(context);
  let port = config.port ?? 0;
  let server: Server | null = null;
  const open = async (): Promise<number> => {
    if (server !== null) return port;
    const opened = createHttpServer(app.fetch);
    opened.on('upgrade', sockets.upgrade);
    await listenPreferring(opened, '127.0.0.1', port);
    server = opened;
    port = portOf(opened);
    return port;
  };
  const close = async (): Promise<void> => {
    const closing = server;
    server = null;
    sockets.close();
    if (closing !== null) await dropServer(closing);
  };
  await open();
  return {
    port,
    workingDir,
    pause: async () => {
      await sandbox.freeze();
      await close();
    },
    resume: () => {
      sandbox.thaw();
      return open();
    },
    stop: async () => {
      for (const { loop } of conversations.all()) loop.halt();
      await Promise.all([close(), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
      store?.close();
    },
  };
}
