import { describe, expect, it } from 'vitest';
import { eachEvent } from '../../../src/domain/event.ts';
import { connectedBoth, idOf, v0Record, v1Record } from '../support/connected-both.ts';
import { failure } from '../support/failure.ts';

const both = connectedBoth();

describe('one conversation of a server that speaks both dialects', () => {
  it('that neither dialect has is not found by any command, and no change is sent', async () => {
    const id = idOf('b', 9);
    both.before = ({ path }) => {
      if (path === '/api/v1/app-conversations' || path === '/api/v1/app-conversations/start-tasks')
        return { json: [null] };
      // V0 answers null with 200.
      return path === `/api/conversations/${id}` ? { json: null } : null;
    };
    const { conversations } = both.server;
    const message = { text: 'hello', image_urls: [] };
    const asked = [
      conversations.get(id),
      conversations.getComplete(id),
      conversations.result(id),
      conversations.send(id, message),
      conversations.pending(id),
      conversations.answer(id, { decision: 'accept', reason: null, action_id: null }),
      conversations.run(id),
      conversations.stop(id),
      conversations.diff(id),
      (async () => {
        for await (const event of eachEvent(conversations.eventPages(id, {}))) expect(event).toBeUndefined();
      })(),
    ];
    const failures = await Promise.all(asked.map((promise) => failure(promise)));
    expect(failures.map(({ kind, message: text }) => [kind, text])).toEqual(
      asked.map(() => ['not-found', `there is no conversation ${id} at this server`]),
    );
    expect(both.fake.asked.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('is of V1 when it appears there between the read over V1 and the read over V0', async () => {
    const kept = { id: idOf('b', 1), minute: 1 };
    let looks = 0;
    both.before = ({ path }) => {
      if (path === '/api/v1/app-conversations') return { json: [++looks === 1 ? null : v1Record(kept)] };
      if (path === '/api/v1/app-conversations/start-tasks') return { json: [null] };
      if (path.startsWith('/api/v1/app-conversations/start-tasks/')) return { json: { items: [], next_page_id: null } };
      if (path === `/api/conversations/${kept.id}`) return { json: v0Record(kept, 'V1') };
      return path.startsWith(`/api/conversations/${kept.id}/`) ? { status: 422, json: { detail: 'no' } } : null;
    };
    expect(await both.server.conversations.get(kept.id)).toMatchObject({ id: kept.id, dialect: 'v1' });
    expect(await both.server.conversations.getComplete(kept.id)).toMatchObject({ id: kept.id, dialect: 'v1' });
  });
});
