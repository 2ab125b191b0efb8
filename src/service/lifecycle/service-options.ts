import type { SandboxSpecName } from '../base/worker-protocol.ts';

export type ServiceApi = 'v0' | 'v1' | 'both';

export const DEFAULT_IDLE_TIMEOUT_MS = 30 * 60_000;

export interface ServeFlags {
  /** 0 or absent: a free one. */
  port?: number | undefined;
  host?: string | undefined;
  api?: ServiceApi | undefined;
  /** The spec where none is named. Default: bubblewrap where it works, else process. */
  spec?: SandboxSpecName | undefined;
  /** Bytes of private memory of one process; default half of the machine's. 0: no limit. */
  sandboxMemory?: number | undefined;
  /** Processes of one sandbox; default 4096. 0: no limit. */
  sandboxProcesses?: number | undefined;
  /** End after so long without client and running conversation. Default 30 minutes; 0: never. */
  idleTimeoutMs?: number | undefined;
  scenario?: string | undefined;
  /** The replay of conversations that name none: `demo` or the absolute path of a trajectory. */
  replay?: string | undefined;
}

export interface ServiceOptions extends ServeFlags {
  dataDir: string;
  /** Package root: `<root>/dist/worker.js` is the agent server of a sandbox. */
  root: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Sandboxes that may run at once; default 20. */
  maxRunning?: number;
  /** Default `foreground`: a service that runs in a terminal and is not replaced by a newer one. */
  life?: 'foreground' | 'background';
  /** Milliseconds since 1970; default the time of the system. */
  now?: () => number;
  /** Writes one line to the log of the service. Never contains a secret. */
  log?: (line: string) => void;
}

export interface RunningService {
  url: string;
  key: string;
  port: number;
  /** Settles, with the reason, once the service has ended and every worker with it. */
  ended: Promise<string>;
  /** Ends the service and every worker; settles when nothing of it is left. Safe to call twice. */
  close(reason?: string): Promise<void>;
}
