import { describe, expect, it } from 'vitest';
import type { FollowItem } from '../../../src/runs/follow-source.ts';
import { connectedV0, ID, stateChanged } from '../support/connected-v0.ts';
import { failure } from '../support/failure.ts';
import { startFake } from '../support/fake-server.ts';

const v0 = connectedV0();

describe('a V0 conversation', () => {
  it('is followed by reading, each event once, to its end', async () => {
    const all = v0.world.events;
    v0.world.events = all.slice(0, 4);
    const stop = new AbortController();
    const items: FollowItem[] = [];
    for await (const item of v0.server.conversations.follow(ID, { signal: stop.signal })) {
      items.push(item);
      if (item.type === 'state' && item.conversation.status === 'running')
        v0.world.events = [...all, stateChanged(1000, 'finished')];
      if (item.type === 'state' && item.conversation.status === 'finished') break;
    }
    const ids = items.flatMap((item) => (item.type === 'event' ? [item.event.id] : []));
    expect(ids).toEqual([...all.map(({ id }) => String(id)), '1000']);
  });

  it('sends a message as a raw action, and refuses one while it is stopped', async () => {
    v0.world.before = ({ method, path }) =>
      method === 'POST' && path === `/api/conversations/${ID}/events` ? { json: { success: true } } : null;
    await v0.server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(v0.fake.asked.at(-1)?.body).toEqual({ action: 'message', args: { content: 'go on', image_urls: [] } });
    v0.world.record = { ...v0.world.record, status: 'STOPPED' };
    expect((await failure(v0.server.conversations.send(ID, { text: 'x', image_urls: [] }))).kind).toBe('conflict');
  });

  it('requests its own runtime at the host and with the key of the runtime', async () => {
    const runtime = await startFake(({ method }) => ({
      json: method === 'GET' ? { events: [], has_more: false } : { success: true },
    }));
    v0.world.record = {
      ...v0.world.record,
      url: `${runtime.url}/api/conversations/${ID}`,
      session_api_key: 'runtime-key-123456',
    };
    await v0.server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(runtime.asked[0]?.headers['x-session-api-key']).toBe('runtime-key-123456');
    expect(runtime.asked[0]?.headers.authorization).toBeUndefined();
    await runtime.close();
  });
});
