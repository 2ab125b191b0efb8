/** Events of a conversation: read them, say something, answer a confirmation. */
import type { Hono } from 'hono';
import {
  eventIds,
  eventSearch,
  type EventSearch,
  respondToConfirmation,
  sendMessage,
} from '../../../protocol/agent-server/requests.ts';
import type { WorkerContext } from '../context.ts';
import type { EventFilter } from '../../storage/event-log.ts';
import { kindAtPath } from '../event-kinds.ts';
import { conversationOf, HttpRefusal, readBody, readQuery } from '../http.ts';

const PATH = '/api/conversations/:id/events';

export function eventRoutes(app: Hono, { conversations }: WorkerContext): void {
  app.get(`${PATH}/search`, (context) => {
    const { conversation } = conversationOf(context, conversations);
    const query = readQuery(context, eventSearch);
    const page = conversation.log.search({
      ...filterOf(query),
      fromId: query.page_id,
      limit: query.limit,
      order: query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc',
    });
    return context.json({ items: page.items, next_page_id: page.next?.id ?? null });
  });

  app.get(`${PATH}/count`, (context) => {
    const { conversation } = conversationOf(context, conversations);
    return context.json(conversation.log.count(filterOf(readQuery(context, eventSearch))));
  });

  app.get(`${PATH}/:event`, (context) => {
    const { conversation } = conversationOf(context, conversations);
    const [event] = conversation.log.get([context.req.param('event')]);
    if (!event) throw new HttpRefusal(404, 'Event not found');
    return context.json(event);
  });

  // A body in a GET, as genuine servers want it.
  app.get(PATH, async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const ids = await readBody(context, eventIds);
    if (ids.length > 100) throw new HttpRefusal(400, 'Too many ids');
    return context.json(conversation.log.get(ids));
  });

  app.post(PATH, async (context) => {
    const { conversation, loop } = conversationOf(context, conversations, true);
    const { role, content, run } = await readBody(context, sendMessage);
    // Refused before it is stored: a message that is kept but not acted on would be acted on later, unasked.
    if (run) loop.assertNotWaiting();
    conversation.addMessage(role, content);
    if (run) loop.startOrJoin();
    return context.json({ success: true });
  });

  app.post(`${PATH}/respond_to_confirmation`, async (context) => {
    const { loop } = conversationOf(context, conversations, true);
    const { accept, reason } = await readBody(context, respondToConfirmation);
    await loop.respond(accept, reason);
    return context.json({ success: true });
  });
}

/** Times in the naive form of the log. */
function filterOf(query: EventSearch): EventFilter {
  return {
    kind: query.kind === undefined ? undefined : kindAtPath(query.kind),
    source: query.source,
    body: query.body,
    gte: query.timestamp__gte?.slice(0, -1),
    lt: query.timestamp__lt?.slice(0, -1),
  };
}
