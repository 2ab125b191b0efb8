import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/service/agent-server/conversation.ts';
import { conversationError, noMetrics } from '../../../src/service/agent-server/events.ts';
import type { ConversationNotice } from '../../../src/service/sandboxes/worker-protocol.ts';
import { type EventLog, openEventLog } from '../../../src/service/storage/event-log.ts';
import { until } from './support/worker.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'acs-full-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const STATE = {
  conversation_id: 'a'.repeat(32),
  execution_status: 'running',
  title: null,
  created_at: '2026-01-01T00:00:00.000000Z',
  updated_at: '2026-01-01T00:00:00.000000Z',
  working_dir: '/',
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

describe('a run on a full disk', () => {
  it('is in error at once, and the error is logged as soon as the disk has space', async () => {
    const log = openEventLog(path.join(folder, 'a.db'));
    const disk = { isFull: true };
    const limited: EventLog = Object.assign(Object.create(log) as EventLog, {
      search: log.search.bind(log),
      readSecrets: () => ({}),
      appendWithState(...given: Parameters<EventLog['appendWithState']>) {
        if (disk.isFull) throw new Error('database or disk is full');
        log.appendWithState(...given);
      },
    });
    const notices: ConversationNotice[] = [];
    const now = () => 1_800_000_000_000_000;
    const conversation = new Conversation(STATE, limited, now, (notice) => notices.push(notice));
    conversation.breakOff([conversationError('StorageError', 'The disk is full.')]);
    expect(conversation.state.execution_status).toBe('error');
    expect(notices).toMatchObject([{ execution_status: 'error' }]);
    expect(() => conversation.setStatus('idle')).toThrow(/full/);
    disk.isFull = false;
    await until('the error in the log', () => log.count({ kind: 'ConversationErrorEvent' }) === 1);
    const kinds = log.search({ limit: 10, order: 'asc' }).items.map((event) => event.kind);
    expect(kinds).toEqual(['ConversationStateUpdateEvent', 'ConversationErrorEvent']);
    expect(log.readState()?.execution_status).toBe('error');
    log.close();
  });
});
