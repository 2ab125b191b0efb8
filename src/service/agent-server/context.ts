import type { BashService } from './bash.ts';
import type { Conversations } from './conversations.ts';
import type { Store } from '../storage/index.ts';
import type { FaultRules } from '../faults/rules.ts';
import type { Sandbox } from '../isolation/sandbox.ts';

export interface WorkerContext {
  sessionApiKey: string;
  /** Of acs. */
  version: string;
  /** Of the package. */
  root: string;
  conversations: Conversations;
  /** False: the sandbox has fallen back to no isolation; true also where `process` was named. */
  mayRunModels: boolean;
  bash: BashService;
  sandbox: Sandbox;
  /** The store of the service, opened by the first request that needs it. */
  userStore: () => Pick<Store, 'documents' | 'secrets'>;
  nowMicroseconds: () => number;
  /** Null: no fault is injected. */
  faultRules: FaultRules | null;
  log: (line: string) => void;
}

/** What the routes use beside it. Times in microseconds. */
export interface AgentContext extends WorkerContext {
  startedAt: number;
  /** Of the last request below /api or /local. */
  lastUse: number;
}
