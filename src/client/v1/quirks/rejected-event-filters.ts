/**
 * Reads events without the filters that the server rejects; the caller filters by time itself.
 *
 * Servers:  openhands-ai 1.6.0; releases that do not know a kind of event
 * Symptom:  `conv events --since` exits 9: every filter by time is 500, and an unknown kind is 422.
 * Evidence: interface 7.1; recording exchanges-1.6.0.jsonl, events.search.since
 * Cost:     0 requests when the filter works; else 1 rejected request for each search
 * Remove:   when servers before 1.11.0 are no longer supported
 */
import { isAppError } from '../../../base/errors.ts';
import type { EventRecord } from '../../../protocol/v1/records.ts';
import type { Links } from '../../shared/links.ts';
import type { Page } from '../../../domain/pages.ts';
import { searchAppEvents, type EventFilter } from '../app-events.ts';

export function filteredSearch(
  links: Links,
  id: string,
  filters: EventFilter,
): (page: string | null) => Promise<Page<EventRecord>> {
  const isFiltered = filters.since !== undefined || filters.kind !== undefined;
  let filter: EventFilter = filters.since === undefined ? filters : { ...filters, final: [500] };
  return async (page) => {
    try {
      return await searchAppEvents(links, id, filter, page);
    } catch (error) {
      const status = isAppError(error) ? error.details.status : undefined;
      if (page !== null || !isFiltered || (status !== 500 && status !== 422)) throw error;
      filter = { order: filters.order };
      return await searchAppEvents(links, id, filter, page);
    }
  };
}
