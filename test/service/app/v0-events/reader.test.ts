import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createV0EventReader } from '../../../../src/service/app/v0-events/reader.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import type { ConversationRow } from '../../../../src/service/storage/conversations.ts';
import { eventLogFile, openEventLog, type EventLog } from '../../../../src/service/storage/event-log.ts';
import { createEventLogs, type EventLogs } from '../../../../src/service/storage/event-logs.ts';
import { naiveTimestamp } from '../../../../src/service/lifecycle/clock.ts';
import { conversationRow } from '../../../support/conversation-row.ts';
import { folderOfEachTest } from '../../../support/temporary-folder.ts';

const folder = folderOfEachTest();
let logs: EventLogs;
const written: EventLog[] = [];
beforeEach(() => {
  logs = createEventLogs(folder.path);
});
afterEach(() => {
  logs.close();
  for (const log of written.splice(0)) log.close();
});

const row = (more: Partial<ConversationRow> = {}): ConversationRow =>
  conversationRow({
    id: 'a'.repeat(32),
    dialect: 'V0',
    sandbox_id: 's',
    created_at: '2026-01-01T00:00:00.000000Z',
    ...more,
  });

function logOf({ id, sandbox_id }: ConversationRow): EventLog {
  const eventsDir = path.join(folder.path, sandbox_id ?? '');
  mkdirSync(eventsDir, { recursive: true });
  const log = openEventLog(eventLogFile(eventsDir, id));
  written.push(log);
  return log;
}

function event(index: number, kind = 'MessageEvent', more: object = {}): StoredEvent {
  const llm_message = { content: [{ type: 'text', text: `text ${index}` }] };
  return { id: `event-${index}`, timestamp: naiveTimestamp(index), source: 'user', kind, llm_message, ...more };
}

describe('the events of a conversation of V0', () => {
  it('are read on from where the last read ended, over several pages', () => {
    const reader = createV0EventReader(logs);
    const log = logOf(row());
    const fill = (from: number, to: number) => {
      for (let index = from; index < to; index++) log.append(event(index));
    };
    fill(0, 1001);
    const first = [...reader.read(row())];
    expect(first).toHaveLength(1002);
    fill(1001, 1003);
    const all = reader.read(row());
    expect(all.slice(0, first.length)).toEqual(first);
    expect(all.map(({ id }) => id)).toEqual(Array.from({ length: 1004 }, (_, id) => id));
    expect(all.at(-1)?.args?.content).toBe('text 1002');
  });

  it('have the reason of a failure whose reason is on the next page', () => {
    const log = logOf(row());
    for (let index = 0; index < 499; index++) log.append(event(index));
    log.append(event(499, 'ConversationStateUpdateEvent', { key: 'execution_status', value: 'error' }));
    log.append(event(500, 'ConversationErrorEvent', { code: 'E', detail: 'why' }));
    expect(createV0EventReader(logs).read(row()).at(-1)?.extras).toEqual({ agent_state: 'error', reason: 'E: why' });
  });

  it('begin again when the conversation has another sandbox, and when many others were read', () => {
    const reader = createV0EventReader(logs);
    logOf(row()).append(event(1));
    expect(reader.read(row()).at(-1)?.args?.content).toBe('text 1');
    logOf(row({ sandbox_id: 'other' })).append(event(2));
    expect(reader.read(row({ sandbox_id: 'other' })).map((each) => each.args?.content)).toEqual([undefined, 'text 2']);
    for (let other = 0; other < 20; other++) reader.read(row({ id: other.toString(16).padStart(32, '0') }));
    expect(reader.read(row()).map((each) => each.args?.content)).toEqual([undefined, 'text 1']);
  });

  it('of one without a log are none, and of one that did not start are its states', () => {
    const reader = createV0EventReader(logs);
    expect(reader.read(row())).toEqual([]);
    const states = (more: Partial<ConversationRow>): unknown[] =>
      reader.read(row(more)).map(({ id, timestamp, extras }) => [id, timestamp, extras]);
    const at = '2026-01-01T00:00:00.000000';
    const loading = [0, at, { agent_state: 'loading', reason: '' }];
    expect(states({ start_state: 'starting' })).toEqual([loading]);
    expect(states({ start_state: 'failed', start_detail: 'no repository' })).toEqual([
      loading,
      [1, at, { agent_state: 'error', reason: 'no repository' }],
    ]);
  });
});
