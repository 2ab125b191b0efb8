import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { createV1World, ID, status, type V1World } from '../support/v1-world.ts';

describe('over V1', () => {
  let world: V1World;
  let server: Server;
  let posted: Asked[];
  let reply: (asked: Asked) => Reply;
  const refused: Reply = {
    status: 409,
    json: { detail: 'Conversation already running. Wait for completion or pause first.' },
  };

  beforeEach(async () => {
    world = await createV1World();
    server = await connectTo(world.fake.url);
    posted = [];
    reply = () => ({ json: { success: true } });
    world.before = (asked) => {
      if (asked.method !== 'POST') return null;
      posted.push(asked);
      return reply(asked);
    };
    world.addConversation({ execution_status: 'waiting_for_confirmation' });
    world.agentState['execution_status'] = 'waiting_for_confirmation';
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });

  it('repeats a refused run only while the server still reports the end of the run before', async () => {
    world.agentState['execution_status'] = 'paused';
    world.agentEvents = [status('paused')];
    reply = () => (posted.length < 3 ? refused : { json: { success: true } });
    const { handler } = world.fake;
    let looks = 0;
    world.fake.handler = (asked) => {
      if (posted.length === 3 && asked.path.endsWith('/events/search') && ++looks === 3)
        world.agentEvents.push(status('running'));
      return handler(asked);
    };
    expect(await server.conversations.run(ID)).toBe('started');
    // Running by then: a wait for it does not see the status before.
    expect([posted.length, looks]).toEqual([3, 3]);
    reply = () => refused;
    const error = await failure(server.conversations.run(ID));
    expect([error.kind, error.message]).toEqual(['conflict', expect.stringContaining('already running')]);
    expect(error.details).toMatchObject({
      status: 409,
      request: { method: 'POST', url: expect.stringMatching(/\/run$/) as string },
    });
  });
});
