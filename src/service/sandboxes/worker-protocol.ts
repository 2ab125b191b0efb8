/**
 * The protocol between the app server and the worker of a sandbox over the worker's stdin and stdout, one JSON object a
 * line. Clients of the sandbox use the worker's HTTP port instead (agent-server/server.ts).
 *
 * Life of a worker: the app server starts `node <root>/dist/worker.js` and writes the WorkerConfig as the first line;
 * the worker answers `ready` or `failed`. Each command line is answered by the notice with the same `request`.
 * The end of stdin means that the app server has ended: the worker kills every process of the sandbox and exits.
 */
import type { ReplayStep } from '../agents/replay/steps.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { ExecutionStatus, Metrics } from '../storage/conversation-state.ts';

/** How a sandbox is isolated. `bubblewrap-offline` has no network but its own loopback; `process` isolates nothing. */
export type SandboxSpecName = 'bubblewrap' | 'bubblewrap-offline' | 'process';

/** Where the workspace of a sandbox is seen by the commands inside bubblewrap, as in a genuine container. */
export const WORKSPACE_INSIDE = '/workspace/project';

/** The first line of the worker's stdin. */
export interface WorkerConfig {
  sandbox_id: string;
  /** Required by every `/api` route and socket of this worker. Never passed to processes inside. */
  session_api_key: string;
  spec: SandboxSpecName;
  /** Folder on the host, existing. */
  workspace_dir: string;
  /** Folder on the host, existing, that holds the event log of each conversation. */
  events_dir: string;
  /** Package root: `<root>/dist/inside.js` is what runs inside. */
  root: string;
  /** Preferred port on loopback; another one is taken when it is in use. */
  port?: number;
  /** Environment of the commands inside, on top of the worker's own choice. */
  initial_env: Record<string, string>;
  /** Rules of fault injection for requests to this worker; absent: none. */
  faults?: FaultRule[];
  /** The replay of conversations that are started without one; absent or null: none. */
  default_replay?: ReplayStep[] | null;
}

/** The further lines of the worker's stdin. `request` is an id chosen by the app server. */
export type WorkerCommand =
  { type: 'pause'; request: string } | { type: 'resume'; request: string } | { type: 'stop'; request: string };

/** What changed in a conversation; sent after the change is written to its event log. */
export interface ConversationNotice {
  type: 'conversation';
  /** 32 hexadecimal digits. */
  conversation_id: string;
  execution_status: ExecutionStatus;
  title: string | null;
  metrics: Metrics;
  /** RFC 3339 with microseconds and `Z`. */
  updated_at: string;
  /** True when the conversation is gone from the worker and its log deleted. */
  deleted: boolean;
}

/** The lines of the worker's stdout. */
export type WorkerNotice =
  | { type: 'ready'; port: number; working_dir: string; spec: SandboxSpecName }
  | { type: 'paused'; request: string }
  | { type: 'resumed'; request: string; port: number }
  | { type: 'stopped'; request: string }
  /** How many clients are connected to the web sockets now; sent on each change. */
  | { type: 'subscribers'; count: number }
  /** A notice for the user; not an error. */
  | { type: 'warning'; text: string }
  /** The worker cannot continue and exits. */
  | { type: 'failed'; text: string }
  | ConversationNotice;
