/** The events of a V1 conversation: from its sandbox while that runs, else from the app server's copy. */
import { isAppError, type AppError } from '../../errors.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { parseTime } from '../../text/time.ts';
import { naiveTime } from '../quirks/naive-times.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { byId, eachPage } from '../../domain/pages.ts';
import { SeenIds } from '../../domain/seen-ids.ts';
import type { EventQuery } from '../server.ts';
import type { Links } from '../links.ts';
import { filteredSearch } from '../quirks/rejected-event-filters.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import type { CopyNotices } from '../quirks/late-copy.ts';
import { isNoise, toEvent } from './event-records.ts';

export async function* eventPagesV1(
  links: Links,
  copy: CopyNotices,
  id: string,
  query: EventQuery,
): AsyncGenerator<ConversationEvent[], void, void> {
  const record = await getConversation(links, id);
  let left = query.limit ?? Infinity;
  if (left <= 0) return;
  for await (const page of wholeRecords(links, copy, record, query)) {
    const events: ConversationEvent[] = [];
    for (const event of page) {
      if (isNoise(event) || (query.kinds !== undefined && !query.kinds.includes(event.kind))) continue;
      events.push(toEvent(event, record.id, links.network.redaction));
      if (events.length >= left) break;
    }
    yield events;
    left -= events.length;
    if (left <= 0) return;
  }
}

/** From the server that answers, and from both where one fails midway; each record once. */
async function* wholeRecords(
  links: Links,
  copy: CopyNotices,
  record: AppConversationRecord,
  query: RecordQuery,
): AsyncGenerator<EventRecord[], void, void> {
  const agent = agentOf(links, record);
  const known = new SeenIds();
  let last: EventRecord | null = null;
  let since = query.since;
  if (agent === null) await copy.asleep(record);
  else {
    try {
      for await (const page of agentEventPages(agent, query, known)) {
        yield page;
        last = page.at(-1) ?? last;
      }
      // A recreated sandbox has no earlier events.
      if (last !== null) return;
    } catch (error) {
      if (!isAppError(error) || !ELSEWHERE.has(error.kind)) throw error;
      copy.unreachable(record.id, error);
      if (last !== null && query.order !== 'newest-first') since = last.timestamp ?? since;
    }
  }
  for await (const page of appEventPages(links, record.id, { ...query, since })) {
    yield known.size === 0 ? page : page.filter(({ id }) => !known.has(id));
    last = page.at(-1) ?? last;
  }
  if (last === null && query.since === undefined && query.kinds === undefined) copy.empty(record);
}

/** With these the sandbox does not answer, and the copy may. */
const ELSEWHERE: ReadonlySet<string> = new Set(['not-found', 'network', 'server', 'auth', 'unsupported']);

type RecordQuery = Pick<EventQuery, 'since' | 'order' | 'kinds'>;

/**
 * Records as served, noise included. The sandbox has every event, but only while it runs and as long as it has the
 * conversation; the app server's copy may lag by 30 s. So the sandbox first, and the copy when it does not answer:
 * at once, unless `whenSilent` is to repeat the request.
 */
export async function* eventRecords(
  links: Links,
  id: string,
  agent: AgentClient | null,
  query: RecordQuery,
  whenSilent: (error: AppError) => Promise<'again' | 'copy'> = () => Promise.resolve('copy'),
): AsyncGenerator<EventRecord, void, void> {
  for (let next: 'again' | 'copy' = agent === null ? 'copy' : 'again'; agent !== null && next === 'again';) {
    let yielded = 0;
    try {
      for await (const page of agentEventPages(agent, query)) {
        yielded += page.length;
        yield* page;
      }
      return;
    } catch (error) {
      if (!isAppError(error) || !ELSEWHERE.has(error.kind) || yielded > 0) throw error;
      next = await whenSilent(error);
    }
  }
  for await (const page of appEventPages(links, id, query)) yield* page;
}

/** @param known gets the ids of the records */
function agentEventPages(
  agent: AgentClient,
  query: RecordQuery,
  known = new SeenIds(),
): AsyncGenerator<EventRecord[], void, void> {
  const order = query.order === 'newest-first' ? 'TIMESTAMP_DESC' : 'TIMESTAMP';
  const since = query.since === undefined ? undefined : naiveTime(query.since);
  return eachPage(byId, (page) => agent.events({ order, since }, page), { ahead: 'next', known });
}

async function* appEventPages(links: Links, id: string, query: RecordQuery): AsyncGenerator<EventRecord[], void, void> {
  const order = query.order === 'newest-first' ? 'TIMESTAMP_DESC' : 'TIMESTAMP';
  const kind = query.kinds?.length === 1 ? query.kinds[0] : undefined;
  const since = query.since === undefined ? undefined : naiveTime(query.since);
  const sinceMs = parseTime(query.since ?? null);
  const fetchPage = filteredSearch(links, id, { order, kind, since });
  for await (const page of eachPage(byId, fetchPage, { ahead: 'next', known: new SeenIds() })) {
    yield sinceMs === null ? page : page.filter((event) => (parseTime(event.timestamp) ?? Infinity) >= sinceMs);
  }
}
