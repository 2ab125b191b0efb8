/**
 * The worker of a sandbox: its isolation, its conversations, and the agent server on a loopback port in front of them.
 * In this folder: routes/ (HTTP), sockets.ts (web sockets), conversations.ts, run-loop.ts and agent.ts (what runs),
 * sandbox.ts (the way into the isolation). main.ts is the process around it.
 */
import { createFaultRules } from '../faults/rules.ts';
import type { WorkerConfig, WorkerNotice } from '../sandboxes/worker-protocol.ts';
import { BashService } from './bash.ts';
import type { WorkerContext } from './context.ts';
import { Conversations } from './conversations.ts';
import { Doors } from './doors.ts';
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
  /** Stops every process inside and closes the doors. */
  pause: () => Promise<void>;
  /** Continues them and opens the doors again; gives the port. */
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
  const doors = new Doors(createAgentApp(context).fetch, sockets);
  const port = await doors.open(config.port ?? 0);
  return {
    port,
    workingDir,
    pause: async () => {
      await sandbox.freeze();
      await doors.close();
    },
    resume: async () => {
      sandbox.thaw();
      return doors.open(doors.port);
    },
    stop: async () => {
      for (const { loop } of conversations.all()) loop.halt();
      await Promise.all([doors.close(), sandbox.close()]);
      for (const { conversation } of conversations.all()) conversation.recover();
      conversations.close();
    },
  };
}
