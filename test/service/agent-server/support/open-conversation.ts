import path from 'node:path';
import { Conversation } from '../../../../src/service/agent-server/conversation.ts';
import type { ConversationNotice } from '../../../../src/service/base/worker-protocol.ts';
import { noMetrics } from '../../../../src/service/storage/conversation-state.ts';
import { type EventLog, openEventLog } from '../../../../src/service/storage/event-log.ts';

/** A conversation in a folder, without a worker. Its run is in progress. */
export function openConversation(
  dir: string,
  log: EventLog = openEventLog(path.join(dir, 'a.db')),
  notify: (notice: ConversationNotice) => void = () => undefined,
): Conversation {
  const state = {
    conversation_id: 'a'.repeat(32),
    execution_status: 'running',
    title: null,
    created_at: '2026-01-01T00:00:00.000000Z',
    updated_at: '2026-01-01T00:00:00.000000Z',
    working_dir: dir,
    max_iterations: 10,
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    model: 'replay',
    metrics: noMetrics('replay'),
    last_user_message_id: null,
    steps_done: 0,
    pending_action_id: null,
    tags: {},
  } as const;
  return new Conversation(state, log, () => 1_800_000_000_000_000, notify);
}
