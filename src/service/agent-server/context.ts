import type { WorkerConfig } from '../base/worker-protocol.ts';
import type { FaultRules } from '../faults/rules.ts';
import type { BashService } from './bash.ts';
import type { Conversations, ConversationsContext } from './conversations.ts';

export interface AgentContext extends ConversationsContext {
  config: ConversationsContext['config'] &
    Pick<WorkerConfig, 'session_api_key' | 'root' | 'fell_back'>;
  version: string;
  conversations: Conversations;
  bash: BashService;
  /** Aborted while the sandbox is to be paused: setup scripts end. */
  setUpLimit: AbortController;
  /** In microseconds. */
  startedAt: number;
  /** The time of the last request below /api or /local, in microseconds. */
  lastUse: number;
  faultRules: FaultRules;
  log: (line: string) => void;
}
