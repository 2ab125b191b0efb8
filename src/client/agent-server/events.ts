import type { EventRecord } from '../../protocol/v1/records.ts';
import type { EventQuery } from '../shared/server.ts';
import { naiveTime } from './quirks/naive-times.ts';

export interface RecordQuery {
  order?: EventQuery['order'] | undefined;
  since?: string | undefined;
}
export type Pages = AsyncGenerator<EventRecord[], void, void>;

/** A search for events, at the agent server and in the copy of the app server alike. */
export function searchQuery(
  { order, since, limit = 100 }: RecordQuery & { limit?: number },
  page: string | null,
) {
  return {
    sort_order: order === 'newest-first' ? 'TIMESTAMP_DESC' : 'TIMESTAMP',
    timestamp__gte: since && naiveTime(since),
    limit,
    page_id: page,
  };
}
