/** The event log of a conversation as its page reads it: in order, a part at a time, without secrets. */
import { setImmediate } from 'node:timers/promises';
import type { PageEvent } from '../../../page/steps.ts';
import { createRedactor } from '../../../text/redact.ts';
import { normalizeTime } from '../../../text/time.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import type { EventLog } from '../../storage/event-log.ts';
import type { AppContext } from '../context.ts';

export interface EventReader {
  /** The events after a place in the log, at most `BATCH`, and the place of the last one. */
  after(place: number): { events: PageEvent[]; place: number };
  /** The newest event of a kind; null: there is none. */
  newest(kind: string): PageEvent['payload'] | null;
  /** The events of the file editor, oldest first. */
  edits(): AsyncGenerator<PageEvent[], void, void>;
  /** What the agent answered to the latest message of the user; null: nothing yet. */
  answer(): string | null;
  /** Text without secrets. */
  redact(text: string): string;
}

export const BATCH = 200;

/** @param id of the conversation */
export function createEventReader(
  { store, logs, key }: Pick<AppContext, 'store' | 'logs' | 'key'>,
  id: string,
): EventReader {
  // The log is looked up at each read: it may have been closed, or its sandbox deleted, since the one before.
  const read = <Result>(work: (log: EventLog) => Result): Result | null => {
    const row = store.conversations.get(id);
    return row === null ? null : logs.read(row, work);
  };
  const sandboxId = store.conversations.get(id)?.sandbox_id ?? null;
  const sandbox = sandboxId === null ? null : store.sandboxes.get(sandboxId);
  const redactor = createRedactor([key, sandbox?.session_api_key ?? '']);
  const shown = (event: StoredEvent): PageEvent => {
    const payload = redactor.value(event) as StoredEvent;
    const { kind, source, timestamp } = payload;
    return { id: event.id, timestamp: normalizeTime(timestamp), source, kind, payload, signal: signalOf(event) };
  };
  return {
    after(place) {
      const rows = read((log) => log.readAfter(place, BATCH)) ?? [];
      const events = rows.map(({ json }) => shown(JSON.parse(json) as StoredEvent));
      return { events, place: rows.at(-1)?.sequence ?? place };
    },
    newest(kind) {
      const found = read((log) => log.search({ kind, order: 'desc', limit: 1 }))?.items[0];
      return found === undefined ? null : shown(found).payload;
    },
    async *edits() {
      for (let offset = 0; ; offset += BATCH) {
        const filter = { kind: 'ObservationEvent', body: 'EditorObservation' };
        const page = read((log) => log.search({ ...filter, offset, order: 'asc', limit: BATCH }));
        yield page?.items.map(shown) ?? [];
        if (page?.next == null) return;
        // Other requests have their turn between two parts.
        await setImmediate();
      }
    },
    answer() {
      for (let offset = 0; ; offset += BATCH) {
        const page = read((log) => log.search({ offset, order: 'desc', limit: BATCH }));
        for (const event of page?.items ?? []) {
          if (signalOf(event) === 'message') return null;
          const text = answerIn(event);
          if (text !== '') return redactor.text(text);
        }
        if (page?.next == null) return null;
      }
    },
    redact: redactor.text,
  };
}

/** What the page distinguishes: a message of the user, a status of the run, anything else. */
function signalOf({ kind, source, key }: StoredEvent): PageEvent['signal'] {
  if (kind === 'MessageEvent' && source === 'user') return 'message';
  return kind === 'ConversationStateUpdateEvent' && key === 'execution_status' ? 'status:other' : null;
}

interface Answering {
  action?: { kind?: string; message?: string };
  llm_message?: { content?: { text?: string }[] };
}

/** The message that the agent finished with, or its text; empty for other events. */
function answerIn(event: StoredEvent): string {
  const { action, llm_message: message } = event as Answering;
  if (event.kind === 'ActionEvent' && action?.kind === 'FinishAction') return action.message ?? '';
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return '';
  return (message?.content ?? []).map(({ text }) => text ?? '').join('');
}
