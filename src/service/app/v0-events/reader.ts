/** Reads the V0 events of conversations, translating only what has been added since the last time. */
import type { ConversationRow } from '../../storage/conversations.ts';
import type { EventLogs } from '../../storage/event-logs.ts';
import { stateChanged, type V0Event } from './event.ts';
import { createTranslator, type Translator } from './translate.ts';

export interface V0EventReader {
  /** All events, in order. The list is the reader's own: not to be changed. */
  read(row: ConversationRow): readonly V0Event[];
}

interface Known {
  sandboxId: string | null;
  translator: Translator;
  events: V0Event[];
  /** Events of the log that have been translated. */
  offset: number;
}

/** The number of conversations whose position is kept between reads. */
const MAX_KNOWN = 16;
const PAGE = 500;

export function createV0EventReader(logs: EventLogs): V0EventReader {
  const known = new Map<string, Known>();
  const stateOf = (row: ConversationRow): Known => {
    const found = known.get(row.id);
    const state =
      found?.sandboxId === row.sandbox_id
        ? found
        : { sandboxId: row.sandbox_id, translator: createTranslator(), events: [], offset: 0 };
    known.delete(row.id);
    known.set(row.id, state); // the last one is the one used last
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    return state;
  };
  return {
    read(row) {
      if (row.start_state !== 'ready') return beforeStart(row);
      const state = stateOf(row);
      logs.read(row, (log) => {
        for (;;) {
          const { items, next } = log.search({ offset: state.offset, limit: PAGE, order: 'asc' });
          // The last one of a page that is followed by another waits for it: an event is read with the one after it.
          const ready = next === null ? items : items.slice(0, -1);
          for (const [index, event] of ready.entries()) {
            state.events.push(...state.translator.take(event, items[index + 1]));
          }
          state.offset += ready.length;
          if (next === null) return;
        }
      });
      return state.events;
    },
  };
}

/** A conversation that is being started, or could not be, has no log; V0 shows its state as events. */
function beforeStart(row: ConversationRow): V0Event[] {
  const at = (stamp: string): string => stamp.replace(/Z$/, '');
  const loading = { id: 0, timestamp: at(row.created_at), ...stateChanged('loading', '') };
  if (row.start_state !== 'failed') return [loading];
  return [loading, { id: 1, timestamp: at(row.updated_at), ...stateChanged('error', row.start_detail ?? '') }];
}
