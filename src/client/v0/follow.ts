import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { FollowItem, FollowOptions, FollowSource } from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import { earlierThan } from '../../base/text/time.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { eventsV0, getConversationV0 } from './calls.ts';
import { agentStateOf, NewsReader, toEventV0 } from './events.ts';
import { toConversationV0 } from './records.ts';

/** Each read of the record reads new events, which `readEvents` yields later. */
export function followV0(
  links: Links,
  id: string,
  options: FollowOptions,
): AsyncIterable<FollowItem> {
  let info: ConversationInfo | null = null;
  let next = 0;
  let firstNew: number | null = null;
  const waiting: EventRecordV0[] = [];
  const reader = new NewsReader(links, (event) => waiting.push(event));
  const isBefore = earlierThan(options.since);
  const sourceEvent = (event: EventRecordV0) => ({
    id: String(event.id),
    timestamp: event.timestamp,
    event: isBefore(event) ? null : () => toEventV0(event, normalId(id), links.network.redaction),
    execution_status: agentStateOf(event)?.state ?? null,
  });
  const source: FollowSource = {
    pollMs: links.app.loopback
      ? { reading: 400, listening: 400, afterEvent: 25 }
      : { reading: 2_000, listening: 2_000 },
    async readRecord() {
      info = await getConversationV0(links, id);
      const state = await reader.read(info);
      if (firstNew === null) {
        firstNew = reader.next;
        next = reader.first?.find(isBefore)?.id ?? 0;
      }
      return toConversationV0(links, info, state);
    },
    complete: (conversation) => Promise.resolve(conversation),
    async *readEvents() {
      if (info === null || firstNew === null) return;
      if (next < firstNew) {
        for await (const event of eventsV0(links, info, next)) {
          if (event.id >= firstNew) break;
          yield sourceEvent(event);
          next = event.id + 1;
        }
        next = firstNew;
      }
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift())
        yield sourceEvent(event);
    },
    openSocket: () => Promise.resolve(null),
  };
  return follow(source, links.clock, links.signal, options);
}
