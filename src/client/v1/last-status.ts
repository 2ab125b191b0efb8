import { allPages, byId } from '../../domain/pages.ts';
import { executionStatusOf } from '../agent-server/event-records.ts';
import type { Links } from '../shared/links.ts';
import { searchAppEvents } from './app-events.ts';

export async function lastExecutionStatus(links: Links, id: string): Promise<string | null> {
  const filter = {
    kind: 'ConversationStateUpdateEvent',
    order: 'newest-first',
    limit: 50,
  } as const;
  let left = 200;
  for await (const event of allPages(byId, (page) => searchAppEvents(links, id, filter, page))) {
    const status = executionStatusOf(event);
    if (status !== null || --left === 0) return status;
  }
  return null;
}
