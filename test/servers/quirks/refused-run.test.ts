import { describe, expect, it } from 'vitest';
import { failure } from '../support/failure.ts';
import { ID, status } from '../support/v1-world.ts';
import { refused, waitingV1 } from '../support/waiting-v1.ts';

const v1 = waitingV1();

describe('over V1', () => {
  it('repeats a refused run only while the server still reports the end of the run before', async () => {
    v1.world.agentState['execution_status'] = 'paused';
    v1.world.agentEvents = [status('paused')];
    v1.reply = () => (v1.posted.length < 3 ? refused : { json: { success: true } });
    const { handler } = v1.world.fake;
    let looks = 0;
    v1.world.fake.handler = (asked) => {
      if (v1.posted.length === 3 && asked.path.endsWith('/events/search') && ++looks === 3)
        v1.world.agentEvents.push(status('running'));
      return handler(asked);
    };
    expect(await v1.server.conversations.run(ID)).toBe('started');
    // Running by then: a wait for it does not see the status before.
    expect([v1.posted.length, looks]).toEqual([3, 3]);
    v1.reply = () => refused;
    const error = await failure(v1.server.conversations.run(ID));
    expect([error.kind, error.message]).toEqual(['conflict', expect.stringContaining('already running')]);
    expect(error.details).toMatchObject({
      status: 409,
      request: { method: 'POST', url: expect.stringMatching(/\/run$/) as string },
    });
  });
});
