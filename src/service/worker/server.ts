/**
 * The worker of a sandbox: its jail, its conversations, and the agent server on a loopback port in front of them.
 * In this folder: routes/ (HTTP), sockets.ts (web sockets), conversations.ts, run-loop.ts and agent.ts (what runs),
 * sandbox.ts (the way into the jail). main.ts is the process around it.
 */
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { SandboxSpecName, WorkerConfig, WorkerNotice } from '../worker-protocol.ts';
import { BashService } from './bash.ts';
import type { WorkerContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { createRoutes } from './routes/index.ts';
import type { Sandbox } from './sandbox.ts';
import { Sockets } from './sockets.ts';

export interface WorkerOptions {
  config: WorkerConfig;
  sandbox: Sandbox;
  version: string;
  nowMicroseconds: () => number;
  notify: (notice: WorkerNotice) => void;
}

export interface RunningWorker {
  port: number;
  workingDir: string;
  spec: SandboxSpecName;
  /** Stops every process inside and closes the doors. */
  pause: () => Promise<void>;
  /** Continues them and opens the doors again; gives the port. */
  resume: () => Promise<number>;
  /** Ends every process inside and closes the logs; runs under way are paused in them. */
  stop: () => Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, sandbox, notify, nowMicroseconds } = options;
  const conversations = new Conversations({ eventsDir: config.events_dir, sandbox, nowMicroseconds, notify });
  const { workingDir, spec } = await sandbox.ready();
  const context: WorkerContext = {
    sessionApiKey: config.session_api_key,
    version: options.version,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    sandbox,
    workingDir,
    nowMicroseconds,
  };
  const routes = createRoutes(context);
  const sockets = new Sockets(context);
  let server: Server | null = null;
  let port = config.port ?? 0;

  const open = async (): Promise<number> => {
    server = createAdaptorServer({ fetch: routes.fetch }) as Server;
    server.keepAliveTimeout = 30_000;
    server.requestTimeout = 0;
    server.on('upgrade', sockets.upgrade);
    port = await listen(server, port);
    return port;
  };
  const close = (): Promise<void> => {
    sockets.close();
    const closing = server;
    server = null;
    return new Promise((resolve) => {
      if (closing === null) {
        resolve();
        return;
      }
      closing.close(() => {
        resolve();
      });
      closing.closeAllConnections();
    });
  };

  await open();
  return {
    port,
    workingDir,
    spec,
    pause: async () => {
      await sandbox.freeze();
      await close();
    },
    resume: async () => {
      sandbox.thaw();
      return open();
    },
    stop: async () => {
      for (const { loop } of conversations.all()) loop.halt();
      await Promise.all([close(), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
    },
  };
}

/** Listens on loopback, on another port when the wanted one is in use. */
async function listen(server: Server, wanted: number): Promise<number> {
  const attempt = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  try {
    await attempt(wanted);
  } catch (error) {
    if (wanted === 0) throw error;
    await attempt(0);
  }
  return (server.address() as AddressInfo).port;
}
