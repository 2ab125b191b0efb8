/** Events of V1: in the sandbox, and the copy of the app server, which is up to 30 s behind. */
import { isOfKind, type AppError } from '../../base/errors.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { byId, eachItem, eachPage } from '../../domain/pages.ts';
import { earlierThan } from '../../base/text/time.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { hasEnded } from '../../runs/status.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Pages, RecordQuery } from '../agent-server/events.ts';
import type { Links } from '../shared/links.ts';
import { untilCopyHas, type CopyNotices } from './quirks/late-copy.ts';
import { filteredSearch } from './quirks/rejected-event-filters.ts';
import type { EventQuery, FinalAnswer, IdOrRecord } from '../shared/server.ts';
import { agentOf } from './agent.ts';
import { conversationRecord } from './calls.ts';
import { finalAnswer, historyPages } from '../agent-server/event-records.ts';
import { runStateV1 } from './records.ts';

export async function* eventPagesV1(
  links: Links,
  copy: CopyNotices,
  of: IdOrRecord,
  query: EventQuery,
): AsyncGenerator<ConversationEvent[], void, void> {
  const record = await conversationRecord(links, of);
  const pages = recordPages(links, copy, record, query);
  yield* historyPages(pages, record.id, links.network.redaction, query.limit);
}

async function* recordPages(
  links: Links,
  copy: CopyNotices,
  record: AppConversationRecord,
  query: RecordQuery,
): Pages {
  const agent = agentOf(links, record);
  const known = new Set<string>();
  let last: EventRecord | undefined;
  if (agent === null) await copy.notRunning(record);
  else
    try {
      for await (const page of agent.eventPages(query, known)) {
        yield page;
        last = page.at(-1) ?? last;
      }
      // A recreated sandbox has no earlier events.
      if (last !== undefined) return;
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      copy.unreachable(record.id, error);
    }
  const isForward = query.order !== 'newest-first';
  const since = (isForward && last?.timestamp) || query.since;
  for await (const page of copyPages(links, record.id, { ...query, since })) {
    yield page.filter((event) => !known.has(event.id));
    last = page.at(-1) ?? last;
  }
  if (last === undefined && query.since === undefined) copy.empty(record);
}

export async function resultV1(
  links: Links,
  copy: CopyNotices,
  of: IdOrRecord,
): Promise<FinalAnswer | null> {
  const record = await conversationRecord(links, of);
  const agent = agentOf(links, record);
  if (agent === null) await copy.notRunning(record);
  const startedAtMs = links.clock.now();
  let isRetried = false;
  // The copy may lack the newest message: the sandbox is read again, unless it took the time-out.
  const onFailure = async (error: AppError) => {
    if (error.kind === 'not-found' || error.kind === 'unsupported') return 'copy';
    if (!isRetried && links.clock.now() - startedAtMs < 10_000) {
      isRetried = true;
      await links.clock.sleep(1_000, links.signal);
      return 'again';
    }
    copy.unreachable(record.id, error);
    // A run that has ended has its answer, which may not have reached the app server yet.
    const status = record.execution_status;
    if (status !== null && hasEnded(runStateV1(status, null).status))
      await untilCopyHas(links, record.id, status);
    return 'copy';
  };
  const query = { order: 'newest-first' } as const;
  const newestFirst = eventRecords(links, record.id, agent, query, onFailure);
  return await finalAnswer(newestFirst, links.network.redaction);
}

export async function* eventRecords(
  links: Links,
  id: string,
  agent: AgentClient | null,
  query: RecordQuery,
  onFailure: (error: AppError) => Promise<'again' | 'copy'>,
): AsyncGenerator<EventRecord, void, void> {
  let from: 'again' | 'copy' = 'again';
  while (agent !== null && from === 'again') {
    let isBegun = false;
    try {
      for await (const page of agent.eventPages(query)) {
        isBegun ||= page.length > 0;
        yield* page;
      }
      return;
    } catch (error) {
      if (!isUnanswered(error) || isBegun) throw error;
      from = await onFailure(error);
    }
  }
  yield* eachItem(copyPages(links, id, query));
}

const isUnanswered = isOfKind('not-found', 'network', 'server', 'auth', 'unsupported');

async function* copyPages(links: Links, id: string, { order, since }: RecordQuery): Pages {
  const isEarlier = earlierThan(since);
  const fetchPage = filteredSearch(links, id, { order, since });
  for await (const page of eachPage(byId, fetchPage, { ahead: 'next' }))
    yield page.filter((event) => !isEarlier(event));
}
