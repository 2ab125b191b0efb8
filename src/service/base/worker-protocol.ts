/**
 * One JSON object a line over the worker's stdin and stdout. The first line is the WorkerConfig,
 * answered by `ready` or `failed`; each command is answered by the notice with the same `request`.
 * At the end of stdin the worker kills every process of the sandbox and exits.
 */
import type { ReplayStep } from './steps.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { ExecutionStatus, Metrics } from '../storage/conversation-state.ts';

/** `bubblewrap-offline` has no network but its own loopback; `process` isolates nothing. */
export type SandboxSpecName = 'bubblewrap' | 'bubblewrap-offline' | 'process';

/** The workspace as commands inside bubblewrap see it, as in a genuine container. */
export const WORKSPACE_INSIDE = '/workspace/project';

/** On the host: `<folder>.git` for each repository cloned into a workspace (repository.ts). */
export const basesOf = (workspaceDir: string): string => `${workspaceDir}.base`;

/** Null: no limit. */
export interface SandboxLimits {
  /** Bytes of private memory of one process: heap, stacks, writable mappings (RLIMIT_DATA). */
  memory: number | null;
  /** Processes and threads of the sandbox together (RLIMIT_NPROC). Not with the spec `process`. */
  processes: number | null;
  /** Bytes of all temporary folders together (tmpfs). Not with the spec `process`. */
  temporary: number | null;
}

/** Absolute paths without `..`, of the machine and inside. Without its source it is left out. */
export interface Mount {
  source: string;
  target: string;
  /** `link`: the target is a link to the source, a path inside. */
  mode: 'read-only' | 'writable' | 'link';
}

export interface WorkerConfig {
  sandbox_id: string;
  /** Required by every `/api` route and socket of this worker. Never passed to processes inside. */
  session_api_key: string;
  spec: SandboxSpecName;
  fell_back: boolean;
  workspace_dir: string;
  /** Mounted in this order, after the workspace. Not with the spec `process`. */
  mounts: Mount[];
  /** Folder on the host, existing, that holds the event log of each conversation. */
  events_dir: string;
  database: string;
  /** Package root: `<root>/dist/inside.js` is what runs inside. */
  root: string;
  /** The one before; null: any. */
  port: number | null;
  initial_env: Record<string, string>;
  limits: SandboxLimits;
  faults: FaultRule[];
  default_replay: ReplayStep[] | null;
}

/**
 * `evict`: as `pause`, and answered by `busy` when a run is in progress. `end-setup`: no setup
 * script runs until the next `resume`; those that run are ended.
 */
export interface WorkerCommand {
  type: 'pause' | 'evict' | 'resume' | 'end-setup' | 'stop';
  request: string;
}

/** What changed in a conversation; sent after the change is written to its event log. */
export interface ConversationNotice {
  type: 'conversation';
  conversation_id: string;
  execution_status: ExecutionStatus;
  title: string | null;
  metrics: Metrics;
  updated_at: string;
  deleted: boolean;
}

export type WorkerNotice =
  | { type: 'ready'; port: number; working_dir: string; spec: SandboxSpecName }
  | { type: 'paused' | 'busy' | 'resumed' | 'setup-ended' | 'stopped'; request: string }
  | { type: 'subscribers'; count: number }
  | { type: 'warning'; text: string }
  | { type: 'failed'; text: string }
  | ConversationNotice;
