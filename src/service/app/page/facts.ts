/** The record of a conversation as its page shows it. */
import type { PageFacts } from '../../../page/sections.ts';
import type { ExecutionStatus } from '../../storage/conversation-state.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { sandboxStateOf, type SandboxState } from '../conversation-record.ts';
import { shownRepository } from '../repositories/repository.ts';
import type { EventReader } from './events.ts';

type Status = PageFacts['status'];

const OF_RUN: Record<ExecutionStatus, Status> = {
  idle: 'idle',
  running: 'running',
  paused: 'paused',
  waiting_for_confirmation: 'waiting',
  finished: 'finished',
  error: 'failed',
  stuck: 'stuck',
};

/** Of a run that had not ended when its sandbox stopped. */
const OF_SANDBOX: Record<Exclude<SandboxState, 'RUNNING'>, Status> = {
  STARTING: 'starting',
  PAUSED: 'paused',
  ERROR: 'failed',
  MISSING: 'archived',
};

const ENDS: ReadonlySet<Status> = new Set(['finished', 'failed', 'stuck']);

/** @param events to find why the run failed */
export function pageFacts(row: ConversationRow, context: AppContext, events: EventReader): PageFacts {
  const sandbox = sandboxStateOf(row, row.sandbox_id === null ? null : context.store.sandboxes.get(row.sandbox_id));
  const status = statusOf(row, sandbox);
  const cost = row.metrics;
  return {
    id: row.id,
    title: row.title,
    status,
    reason: reasonOf(row, status, events),
    waiting_for: status === 'waiting' ? 'confirmation' : status === 'idle' ? 'user' : null,
    cost_usd: cost?.accumulated_cost ?? null,
    tokens:
      cost === null
        ? null
        : {
            input: cost.accumulated_token_usage.prompt_tokens,
            output: cost.accumulated_token_usage.completion_tokens,
          },
    model: row.llm_model,
    repository: row.repository === null ? null : shownRepository(row.repository),
    branch: row.branch,
    created_at: row.created_at,
    url: null,
  };
}

/** An end outlives the sandbox, and a pending confirmation its pause. */
function statusOf({ execution_status: word }: ConversationRow, sandbox: SandboxState): Status {
  const status = word === null ? null : OF_RUN[word];
  if (sandbox === 'RUNNING') return status ?? 'starting';
  if (status !== null && (ENDS.has(status) || (status === 'waiting' && sandbox === 'PAUSED'))) return status;
  return OF_SANDBOX[sandbox];
}

function reasonOf(row: ConversationRow, status: Status, events: EventReader): PageFacts['reason'] {
  if (status === 'stuck') return { code: 'stuck', text: 'the agent repeats one step' };
  if (status !== 'failed') return null;
  if (row.start_detail !== null) return { code: 'start-failed', text: row.start_detail };
  const error = events.newest('ConversationErrorEvent');
  return { code: String(error?.['code'] ?? 'error'), text: String(error?.['detail'] ?? 'no reason is known') };
}
