/**
 * The worker of a sandbox: its isolation, its conversations, and the agent server on a loopback port in front of them.
 * In this folder: routes/ (HTTP), sockets.ts (web sockets), conversations.ts, run-loop.ts and agent.ts (what runs),
 * sandbox.ts (the way into the isolation). main.ts is the process around it.
 */
import type { Server } from 'node:http';
import { createFaultRules } from '../faults/rules.ts';
import { createHttpServer, dropServer, listenPreferring, portOf } from '../http/server.ts';
import type { WorkerConfig, WorkerNotice } from '../sandboxes/worker-protocol.ts';
import { BashService } from './bash.ts';
import type { WorkerContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { createAgentApp } from './app.ts';
import type { Sandbox } from './sandbox.ts';
import { Sockets } from './sockets.ts';

export interface WorkerOptions {
  config: WorkerConfig;
  sandbox: Sandbox;
  version: string;
  nowMicroseconds: () => number;
  notify: (notice: WorkerNotice) => void;
  /** Takes a line for the log of the service. */
  log: (line: string) => void;
}

export interface RunningWorker {
  port: number;
  workingDir: string;
  /** Stops every process inside and closes the port. */
  pause: () => Promise<void>;
  /** Continues them and listens again; gives the port. */
  resume: () => Promise<number>;
  /** Ends every process inside and closes the logs; runs under way are paused in them. */
  stop: () => Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, sandbox, notify, nowMicroseconds } = options;
  const conversations = new Conversations({
    eventsDir: config.events_dir,
    defaultReplay: config.default_replay ?? null,
    sandbox,
    nowMicroseconds,
    notify,
  });
  const workingDir = await sandbox.ready();
  const rules = config.faults ?? [];
  const context: WorkerContext = {
    sessionApiKey: config.session_api_key,
    version: options.version,
    conversations,
    bash: new BashService(sandbox, nowMicroseconds),
    sandbox,
    nowMicroseconds,
    faultRules: rules.length === 0 ? null : createFaultRules(rules, options.log),
    log: options.log,
  };
  const sockets = new Sockets(context, (count) => {
    notify({ type: 'subscribers', count });
  });
  const listener = new Listener(createAgentApp(context).fetch, sockets);
  const port = await listener.open(config.port ?? 0);
  return {
    port,
    workingDir,
    pause: async () => {
      await sandbox.freeze();
      await listener.close();
    },
    resume: async () => {
      sandbox.thaw();
      return listener.open(listener.port);
    },
    stop: async () => {
      for (const { loop } of conversations.all()) loop.halt();
      await Promise.all([listener.close(), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
    },
  };
}

/** The loopback port of a worker: opened, closed while the sandbox is paused, and opened again. */
class Listener {
  readonly #fetch: (request: Request) => Response | Promise<Response>;
  readonly #sockets: Sockets;
  #server: Server | null = null;
  /** The port it listens on, or listened on last. */
  port = 0;

  constructor(fetch: (request: Request) => Response | Promise<Response>, sockets: Sockets) {
    this.#fetch = fetch;
    this.#sockets = sockets;
  }

  /** Listens on the wanted port (0: any), or on another one when it is in use. Returns the port. */
  async open(wanted: number): Promise<number> {
    if (this.#server !== null) return this.port;
    const server = createHttpServer(this.#fetch);
    server.on('upgrade', this.#sockets.upgrade);
    await listenPreferring(server, '127.0.0.1', wanted);
    this.#server = server;
    this.port = portOf(server);
    return this.port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#sockets.close();
    if (server !== null) await dropServer(server);
  }
}
