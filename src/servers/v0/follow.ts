/** A V0 conversation to follow.ts: by reading, event number after event number. */
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { FollowSource, Sighting } from '../follow-source.ts';
import { follow } from '../follow.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { parseTime } from '../../text/time.ts';
import type { FollowItem, FollowOptions } from '../server.ts';
import { eventsForwardV0, getConversationV0 } from './calls.ts';
import { readNews } from './news.ts';
import { agentStateOf, toConversationV0, toEventV0 } from './records.ts';

export function followV0(
  links: Links,
  webUrl: (id: string) => string | null,
  id: string,
  options: FollowOptions,
): AsyncIterable<FollowItem> {
  return follow(createSource(links, webUrl, id, options), links.clock, links.signal, options);
}

function createSource(
  links: Links,
  webUrl: (id: string) => string | null,
  id: string,
  options: FollowOptions,
): FollowSource {
  let info: ConversationInfo | null = null;
  const sinceMs = parseTime(options.since ?? null);
  const latest = async (): Promise<ConversationInfo> => (info ??= await getConversationV0(links, id));
  const sighting = (event: EventRecordV0): Sighting => ({
    id: String(event.id),
    timestamp: event.timestamp,
    event: isBefore(event, sinceMs) ? null : () => toEventV0(event, normalId(id), links.network.redaction),
    word: agentStateOf(event)?.state ?? null,
  });
  return {
    pollMs: links.app.loopback ? { reading: 400, listening: 400 } : { reading: 2_000, listening: 2_000 },
    async look() {
      info = await getConversationV0(links, id);
      return toConversationV0(info, await readNews(links, info), webUrl);
    },
    settle: (conversation) => Promise.resolve(conversation),
    async *read(window) {
      const next = window.lastId === null ? 0 : Number(window.lastId) + 1;
      for await (const event of eventsForwardV0(links, await latest(), next)) yield sighting(event);
    },
    openSocket: () => Promise.resolve(null),
  };
}

function isBefore(event: EventRecordV0, sinceMs: number | null): boolean {
  return sinceMs !== null && (parseTime(event.timestamp) ?? Infinity) < sinceMs;
}
