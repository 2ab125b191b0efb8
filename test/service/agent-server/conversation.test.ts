import { describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/service/agent-server/conversation.ts';
import { conversationError } from '../../../src/service/agent-server/events.ts';
import type { ConversationNotice } from '../../../src/service/sandboxes/worker-protocol.ts';
import { type EventLog, openEventLog } from '../../../src/service/storage/event-log.ts';
import { logFileOfTest, RUNNING } from './support/conversation-of-test.ts';
import { until } from './support/worker.ts';

const place = logFileOfTest();

describe('a run on a full disk', () => {
  it('is in error at once, and the error is logged as soon as the disk has space', async () => {
    const log = openEventLog(place.file);
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
    const conversation = new Conversation(RUNNING, limited, now, (notice) => notices.push(notice));
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
