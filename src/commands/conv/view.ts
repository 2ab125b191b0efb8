import { knownId, type Conversation } from '../../domain/conversation.ts';
import type { Outcome } from '../../runs/outcome.ts';
import { formatUsd } from '../../text/usd.ts';
import type { JsonShape, LinePart, RecordShape, View } from '../../output/view.ts';

const REASON: JsonShape = { members: ['code', 'text'] };

export const conversationView: View<Conversation> = {
  noun: 'conversation',
  id: (conversation) => knownId(conversation) ?? idOf(conversation),
  fields: [
    { name: 'id', get: knownId, as: 'id', weight: 3 },
    { name: 'start_task_id', get: (conversation) => conversation.start_task_id, as: 'id' },
    { name: 'title', get: (conversation) => conversation.title, weight: 2 },
    { name: 'status', get: (conversation) => conversation.status, as: 'status', weight: 0 },
    { name: 'reason', get: (conversation) => conversation.reason, json: REASON },
    { name: 'waiting_for', get: (conversation) => conversation.waiting_for },
    { name: 'dialect', get: (conversation) => conversation.dialect },
    { name: 'execution_status', get: (conversation) => conversation.execution_status },
    { name: 'sandbox_id', get: (conversation) => conversation.sandbox_id },
    { name: 'sandbox_status', get: (conversation) => conversation.sandbox_status, as: 'status' },
    { name: 'repository', get: (conversation) => conversation.repository, weight: 2 },
    { name: 'branch', get: (conversation) => conversation.branch },
    { name: 'git_provider', get: (conversation) => conversation.git_provider },
    { name: 'model', get: (conversation) => conversation.model },
    { name: 'created_at', get: (conversation) => conversation.created_at, as: 'time', weight: 0 },
    { name: 'updated_at', get: (conversation) => conversation.updated_at, as: 'time', weight: 0 },
    { name: 'cost_usd', get: (conversation) => conversation.cost_usd, as: 'usd', weight: 0 },
    { name: 'tokens', get: (conversation) => conversation.tokens, json: { members: ['input', 'output'] } },
    { name: 'url', get: (conversation) => conversation.url },
  ],
  table: ['id', 'status', 'title', 'repository', 'branch', 'updated_at'],
  tsv: [
    'id',
    'status',
    'title',
    'repository',
    'branch',
    'model',
    'created_at',
    'updated_at',
    'cost_usd',
    'sandbox_id',
    'url',
  ],
};

export const outcomeView: View<Outcome> = {
  noun: 'outcome',
  id: (outcome) => outcome.conversation_id,
  fields: [
    { name: 'type', get: (outcome) => outcome.type },
    { name: 'conversation_id', get: (outcome) => outcome.conversation_id, as: 'id', weight: 3 },
    { name: 'status', get: (outcome) => outcome.status, as: 'status', weight: 0 },
    { name: 'reason', get: (outcome) => outcome.reason, json: REASON },
    { name: 'waiting_for', get: (outcome) => outcome.waiting_for },
    { name: 'exit_code', get: (outcome) => outcome.exit_code, weight: 0 },
    { name: 'cost_usd', get: (outcome) => outcome.cost_usd, as: 'usd', weight: 0 },
    { name: 'last_event_id', get: (outcome) => outcome.last_event_id },
  ],
  table: ['conversation_id', 'status', 'exit_code', 'reason'],
  tsv: ['conversation_id', 'status', 'exit_code', 'reason', 'waiting_for', 'cost_usd', 'last_event_id'],
  record: (outcome) => outcome,
  line: outcomeLine,
};

/** A conversation that is still being started is known by its start task. */
export function idOf({ id, start_task_id }: Pick<Conversation, 'id' | 'start_task_id'>): string {
  return id || (start_task_id ?? '');
}

/** How a run ended, in words: the last line of follow. */
export function outcomeLine({ status, reason, exit_code, cost_usd }: Outcome): LinePart[] {
  const tone = exit_code === 0 ? 'good' : exit_code === 1 ? 'bad' : 'warn';
  const why = exit_code === 0 || reason === null ? '' : `: ${reason.text}`;
  const cost = cost_usd === null || cost_usd === 0 ? '' : `  ${formatUsd(cost_usd)}`;
  return [{ text: `${exit_code === 0 ? '✓' : '✗'} ${status}`, tone }, { text: why }, { text: cost, tone: 'dim' }];
}

/** The first line of `conv new --format ndjson`. */
export const startedShape: RecordShape = {
  noun: 'start',
  fields: [{ name: 'type' }, { name: 'id' }, { name: 'url' }],
};
