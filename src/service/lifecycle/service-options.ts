import type { SandboxSpecName } from '../sandboxes/worker-protocol.ts';

/** Which routes are served: those of an old server, of a new one, or both. */
export type ServiceApi = 'v0' | 'v1' | 'both';

export const DEFAULT_IDLE_TIMEOUT_MS = 30 * 60_000;

/** The options of a service that its user can set. */
export interface ServeFlags {
  /** 0 or absent: a free one. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default `both`. */
  api?: ServiceApi;
  /** The spec of sandboxes whose creator names none. Default: bubblewrap where it works, else process. */
  spec?: SandboxSpecName;
  /** End after so long without client and running conversation. Default 30 minutes; 0: never. */
  idleTimeoutMs?: number;
  /** Absolute path of a scenario file: faults that are injected on purpose (faults/scenario.ts). */
  scenario?: string;
  /** The default replay of conversations when no model is set: `demo` or the absolute path of a trajectory. */
  replay?: string;
}

/** The options of starting a local service. Values of the environment are passed in. */
export interface ServiceOptions extends ServeFlags {
  /** The one folder in which the service keeps everything; created with mode 0700. */
  dataDir: string;
  /** Package root: `<root>/dist/worker.js` is the agent server of a sandbox. */
  root: string;
  /** Version of this package, written to the state file. */
  version: string;
  /** Environment for git and for the workers (PATH, HOME, proxies). */
  env: Readonly<Record<string, string | undefined>>;
  /** Sandboxes that may run at once; default 20. */
  maxRunning?: number;
  /** Default `foreground`: a service that runs in a terminal and is not replaced by a newer one. */
  life?: 'foreground' | 'background';
  /** Writes one line to the log of the service. Never contains a secret. */
  log?: (line: string) => void;
}

/** A service that listens. */
export interface RunningService {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /** The key that every request must bring. */
  key: string;
  port: number;
  /** Settles, with the reason, once the service has ended and every worker with it. */
  ended: Promise<string>;
  /** Ends the service and every worker; settles when nothing of it is left. Safe to call twice. */
  close(reason?: string): Promise<void>;
}
