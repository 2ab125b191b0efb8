import { byId, eachPage } from '../../domain/pages.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type { EventQuery } from '../shared/server.ts';
import type { AgentClient } from './client.ts';
import { naiveTime } from './quirks/naive-times.ts';

export interface RecordQuery extends Pick<EventQuery, 'order'> {
  since?: string | undefined;
}
export type Pages = AsyncGenerator<EventRecord[], void, void>;

export function agentPages(
  agent: AgentClient,
  query: RecordQuery,
  known = new Set<string>(),
): Pages {
  return eachPage(byId, (page) => agent.events(filterOf(query), page), { ahead: 'next', known });
}

export function filterOf({ order, since }: RecordQuery) {
  return {
    order: order === 'newest-first' ? ('TIMESTAMP_DESC' as const) : ('TIMESTAMP' as const),
    since: since === undefined ? undefined : naiveTime(since),
  };
}
