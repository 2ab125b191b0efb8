import type { Server } from '../../client/shared/server.ts';
import { blankConversation, knownId, type Conversation } from '../../domain/conversation.ts';
import { readConversationWord } from '../../domain/ids.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { isSelected } from '../../domain/selectors.ts';
import { formatUsd } from '../../base/text/usd.ts';
import type { LinePart, RecordShape, View } from '../../output/view.ts';
import type { Outcome } from '../../runs/outcome.ts';
import { isRunInProgress } from '../../runs/status.ts';
import type { Resource } from '../shared/resource.ts';

const REASON = { members: ['code', 'text'] };

const TSV = 'id status title repository branch model created_at updated_at cost_usd sandbox_id url';

export const conversationView: View<Conversation> = {
  noun: 'conversation',
  id: (conversation) => knownId(conversation) ?? idOrTaskId(conversation),
  fields: [
    { name: 'id', get: knownId, as: 'id', weight: 3 },
    {
      name: 'start_task_id',
      as: 'id',
      show: (it) => (knownId(it) === null ? it.start_task_id : null),
    },
    { name: 'title', weight: 2 },
    { name: 'status', as: 'status', weight: 0 },
    { name: 'reason', json: REASON, show: ({ reason }) => reason?.text },
    { name: 'waiting_for' },
    { name: 'dialect', show: ({ dialect }) => (dialect === 'v0' ? dialect : null) },
    {
      name: 'execution_status',
      // Not where `status` is the same in the words of acs.
      show: ({ status, execution_status }) => {
        const words = { error: 'failed', waiting_for_confirmation: 'waiting' };
        const word = execution_status?.toLowerCase();
        const isSame = [word, words[word as keyof typeof words]].includes(status);
        return isSame ? null : execution_status;
      },
    },
    { name: 'sandbox_id' },
    { name: 'sandbox_status', as: 'status' },
    { name: 'repository', weight: 2, cut: 'front' },
    { name: 'branch' },
    { name: 'git_provider' },
    { name: 'model' },
    { name: 'created_at', as: 'time', weight: 0 },
    { name: 'updated_at', as: 'time', weight: 0 },
    { name: 'cost_usd', as: 'usd', weight: 0 },
    { name: 'tokens', json: { members: ['input', 'output'] } },
    { name: 'url' },
  ],
  table: ['id', 'status', 'title', 'repository', 'branch', 'updated_at'],
  tsv: TSV.split(' '),
};

export const outcomeView: View<Outcome> = {
  noun: 'outcome',
  id: (outcome) => outcome.conversation_id,
  fields: [
    { name: 'type', show: () => null },
    { name: 'conversation_id', as: 'id', weight: 3 },
    { name: 'status', as: 'status', weight: 0 },
    { name: 'reason', json: REASON, show: ({ reason }) => reason?.text },
    { name: 'waiting_for' },
    { name: 'exit_code', weight: 0 },
    { name: 'cost_usd', as: 'usd', weight: 0 },
    { name: 'last_event_id', show: () => null },
  ],
  table: ['conversation_id', 'status', 'exit_code', 'reason'],
  tsv: [
    'conversation_id',
    'status',
    'exit_code',
    'reason',
    'waiting_for',
    'cost_usd',
    'last_event_id',
  ],
  record: (outcome) => outcome,
  line({ status, reason, exit_code, cost_usd }) {
    const cost: LinePart = { text: cost_usd ? `  ${formatUsd(cost_usd)}` : '', tone: 'dim' };
    if (exit_code === 0) return [{ text: `✓ ${status}`, tone: 'good' }, cost];
    const tone = exit_code === 1 ? 'bad' : 'warn';
    return [{ text: `✗ ${status}`, tone }, { text: reason ? `: ${reason.text}` : '' }, cost];
  },
};

/** The id of the start task while there is no other. */
export function idOrTaskId({
  id,
  start_task_id,
}: Pick<Conversation, 'id' | 'start_task_id'>): string {
  return id || (start_task_id ?? '');
}

const getConversation = (server: Server, id: string) => server.conversations.get(id);

export const conversations: Resource<Conversation> = {
  noun: 'conversation',
  plural: 'conversations',
  command: 'conv',
  view: conversationView,
  readWord: readConversationWord,
  idsOf: ({ id, start_task_id }) => [id, start_task_id ?? ''],
  ofLast: getConversation,
  get: getConversation,
  list: (server, page, pageSize) => server.conversations.list({ pageSize, omissions: 'say' }, page),
  async selector(ctx, server, selection) {
    const specs = new Map<string, string | null>();
    if (selection.spec !== undefined) {
      const fetch = (page: string | null, pageSize: number) =>
        server.sandboxes.list(page, pageSize);
      for (const { id, spec_id } of (await collectPages({ fetch, id: byId })).items)
        specs.set(id, spec_id);
    }
    const nowMs = ctx.clock.now();
    return (conversation) => {
      const { repository, sandbox_id } = conversation;
      const repositories = repository === null ? [] : [repository];
      const running = isRunInProgress(conversation);
      const spec_id = specs.get(sandbox_id ?? '') ?? null;
      return isSelected({ ...conversation, running, spec_id, repositories }, selection, nowMs);
    };
  },
  gone: (word) => blankConversation(word, 'deleted'),
  preview: (targets) => ({
    preview: targets.map(({ id, seen }) => conversationLine({ ...seen, id })),
    suffix: '',
  }),
};

export function conversationLine({ id, status, title }: Conversation): string {
  return `conversation ${id} (${status})${title ? `: ${title}` : ''}`;
}

/** The first line of `conv new --format ndjson`. */
export const startedShape: RecordShape = {
  noun: 'start',
  fields: [{ name: 'type' }, { name: 'id' }, { name: 'url' }],
};
