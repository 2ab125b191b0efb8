/**
 * Reads events without the filters that the server rejects; the caller filters by time itself.
 *
 * Servers:  openhands-ai 1.6.0; releases that do not know a kind of event
 * Symptom:  `conv events --since` exits 9: every filter by time is 500, and an unknown kind is 422.
 * Evidence: interface 7.1; recording exchanges-1.6.0.jsonl, events.search.since
 * Cost:     0 requests when the filter works; else 1 rejected request for each search
 * Remove:   when servers before 1.11.0 are no longer supported
 */
import { isAppError } from '../../errors.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type { Links } from '../links.ts';
import type { Page } from '../../domain/pages.ts';
import { searchAppEvents } from '../v1/calls.ts';

interface Filter {
  order: 'TIMESTAMP' | 'TIMESTAMP_DESC';
  kind: string | undefined;
  since: string | undefined;
}

/** @returns a function that reads a page, and the pages after it with the filters that the first one was read with */
export function filteredSearch(
  links: Links,
  id: string,
  { order, kind, since }: Filter,
): (page: string | null) => Promise<Page<EventRecord>> {
  // A read is else repeated after 500.
  const final = since === undefined ? [] : [500];
  let filter: Parameters<typeof searchAppEvents>[2] = { order, kind, since, final };
  const isFiltered = (): boolean => filter.since !== undefined || filter.kind !== undefined;
  return async (page) => {
    try {
      return await searchAppEvents(links, id, filter, page);
    } catch (error) {
      const status = isAppError(error) ? error.details.status : undefined;
      if (page !== null || !isFiltered() || (status !== 500 && status !== 422)) throw error;
      filter = { order };
      return await searchAppEvents(links, id, filter, page);
    }
  };
}
