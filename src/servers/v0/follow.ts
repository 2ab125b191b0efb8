/** A V0 conversation for follow.ts: by reads, in the order of event numbers. */
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { FollowSource, Sighting } from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import { normalId } from '../ids.ts';
import type { Links, WebUrl } from '../links.ts';
import { parseTime } from '../../text/time.ts';
import type { FollowItem, FollowOptions } from '../../runs/follow-source.ts';
import { eventsForwardV0, getConversationV0 } from './calls.ts';
import { createNewsReader } from './news.ts';
import { agentStateOf, toConversationV0, toEventV0 } from './records.ts';

export function followV0(links: Links, webUrl: WebUrl, id: string, options: FollowOptions): AsyncIterable<FollowItem> {
  return follow(createSource(links, webUrl, id, options), links.clock, links.signal, options);
}

/**
 * Each poll reads new events and keeps them for `read`; those before the first poll are read once, from the beginning.
 */
function createSource(links: Links, webUrl: WebUrl, id: string, options: FollowOptions): FollowSource {
  let info: ConversationInfo | null = null;
  let before = 0;
  /** The number of the first new event: known after the first poll. */
  let news: number | null = null;
  const untold: EventRecordV0[] = [];
  const reader = createNewsReader(links, (event) => untold.push(event));
  const sinceMs = parseTime(options.since ?? null);
  const sighting = (event: EventRecordV0): Sighting => ({
    id: String(event.id),
    timestamp: event.timestamp,
    event: isBefore(event, sinceMs) ? null : () => toEventV0(event, normalId(id), links.network.redaction),
    word: agentStateOf(event)?.state ?? null,
  });
  async function* earlier(known: ConversationInfo, end: number): AsyncGenerator<Sighting, void, void> {
    if (before >= end) return;
    for await (const event of eventsForwardV0(links, known, before)) {
      if (event.id >= end) break;
      yield sighting(event);
      before = event.id + 1;
    }
    before = end;
  }
  return {
    pollMs: links.app.loopback
      ? { reading: 400, listening: 400, afterEvent: 25 }
      : { reading: 2_000, listening: 2_000 },
    async look() {
      info = await getConversationV0(links, id);
      const state = await reader.read(info);
      news ??= reader.next;
      return toConversationV0(info, state, webUrl);
    },
    complete: (conversation) => Promise.resolve(conversation),
    async *read() {
      if (info === null || news === null) return;
      yield* earlier(info, news);
      for (let event = untold.shift(); event !== undefined; event = untold.shift()) yield sighting(event);
    },
    openSocket: () => Promise.resolve(null),
  };
}

function isBefore(event: EventRecordV0, sinceMs: number | null): boolean {
  return sinceMs !== null && (parseTime(event.timestamp) ?? Infinity) < sinceMs;
}
