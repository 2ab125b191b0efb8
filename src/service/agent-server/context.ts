import type { WorkerConfig } from '../base/worker-protocol.ts';
import type { FaultRules } from '../faults/rules.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import type { Store } from '../storage/index.ts';
import type { BashService } from './bash.ts';
import type { Conversations } from './conversations.ts';

export interface AgentContext {
  config: Pick<WorkerConfig, 'session_api_key' | 'root' | 'fell_back' | 'spec'>;
  version: string;
  conversations: Conversations;
  bash: BashService;
  /** Aborted while the sandbox is to be paused: setup scripts end. */
  setUpLimit: AbortController;
  sandbox: Sandbox;
  /** The store of the service, opened by the first request that needs it. */
  userStore: () => Pick<Store, 'documents' | 'secrets'>;
  nowMicroseconds: () => number;
  /** In microseconds. */
  startedAt: number;
  /** The time of the last request below /api or /local, in microseconds. */
  lastUse: number;
  faultRules: FaultRules;
  log: (line: string) => void;
}
