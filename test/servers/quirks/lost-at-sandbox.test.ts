import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { until } from '../../support/until.ts';
import { connectTo, quickClock } from '../support/connect.ts';
import { createV1World, ID, type V1World } from '../support/v1-world.ts';

let world: V1World;

let server: Server;

let clock: ReturnType<typeof quickClock>;

let stop: AbortController;

let lines: string[];

let following: Promise<void>;

beforeEach(async () => {
  world = await createV1World();
  stop = new AbortController();
  clock = quickClock();
  server = await connectTo(world.fake.url, { signal: stop.signal, clock });
  world.addConversation();
  lines = [];
});

afterEach(async () => {
  stop.abort(new Error('test is over'));
  await following.catch(() => undefined);
  await server.close();
  await world.close();
});

function follow(): void {
  following = (async () => {
    for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
      if (item.type === 'event') lines.push(item.event.text);
      if (item.type === 'state') lines.push(`=${item.conversation.status}`);
    }
  })();
  following.catch((error: unknown) => lines.push(String(error)));
}

describe('following', () => {
  it('ends when the sandbox has lost the conversation, whose record stays without a status', async () => {
    follow();
    await until(() => lines.includes('=running'));
    world.conversations.get(ID)!['execution_status'] = null;
    world.before = ({ path }) =>
      path.startsWith('/agent/') ? { status: 404, json: { detail: 'Conversation not found' } } : null;
    await following.catch(() => undefined);
    expect(lines.at(-1)).toContain('it was deleted there');
  });
});
