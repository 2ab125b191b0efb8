import { isOfKind, nullIf } from '../../base/errors.ts';
import { normalId } from '../../domain/ids.ts';
import type { Page } from '../../domain/pages.ts';
import { readPage } from '../../protocol/shape.ts';
import { readEvent, type EventRecord } from '../../protocol/v1/records.ts';
import { searchQuery, type RecordQuery } from '../agent-server/events.ts';
import { statusError } from '../http/answer.ts';
import { read, type Links } from '../shared/links.ts';

export interface EventFilter extends RecordQuery {
  kind?: string;
  limit?: number;
  final?: readonly number[];
}

/** The app server's copy. Older releases have another path (interface 7.1): here 404 or HTML. */
export async function searchAppEvents(
  links: Links,
  id: string,
  { kind, final = [], ...search }: EventFilter,
  page: string | null,
): Promise<Page<EventRecord>> {
  const query = { kind__eq: kind, ...searchQuery(search, page) };
  const readEvents = (body: unknown) => readPage(body, 'events', readEvent);
  const path = `/api/v1/conversation/${encodeURIComponent(normalId(id))}/events/search`;
  const call = { path, query, accept: [404, ...final] } as const;
  const isUnreadable = (error: unknown) =>
    isOfKind('server')(error) && error.details.status === 200;
  const answer = await links.app.request(call).catch(nullIf(isUnreadable));
  if (answer === null || answer.status === 404) {
    const older = {
      path: '/api/v1/events/search',
      query: { ...query, conversation_id__eq: normalId(id) },
    };
    return read(await links.app.request({ ...older }), readEvents);
  }
  if (final.includes(answer.status)) throw statusError(answer);
  return read(answer, readEvents);
}
