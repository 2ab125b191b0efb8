import type { BashService } from './bash.ts';
import type { Conversations } from './conversations.ts';
import type { FaultRules } from '../faults/rules.ts';
import type { Sandbox } from './sandbox.ts';

export interface WorkerContext {
  sessionApiKey: string;
  /** Of acs. */
  version: string;
  conversations: Conversations;
  bash: BashService;
  sandbox: Sandbox;
  nowMicroseconds: () => number;
  /** Null: no fault is injected. */
  faultRules: FaultRules | null;
  log: (line: string) => void;
}
