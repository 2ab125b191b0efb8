import { describe, expect, it } from 'vitest';
import { until } from '../../support.ts';
import { at, TRAJECTORY, v0AppOfSuite, type V0Event } from './support.ts';

const v0 = v0AppOfSuite();

describe('a conversation of V0', () => {
  it('replays a trajectory and shows actions with their observations', async () => {
    const id = await v0.create({ replay_json: TRAJECTORY, initial_user_msg: 'Please' });
    await v0.stateReached(id, 'finished', 'error');
    const { events, has_more } = await v0.get<{ events: V0Event[]; has_more: boolean }>(at(id, '/events?limit=100'));
    expect(has_more).toBe(false);
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index));
    expect(
      events.map(
        (event) =>
          event.action ??
          `${event.observation}${event.extras?.agent_state ? `:${String(event.extras.agent_state)}` : ''}`,
      ),
    ).toEqual([
      'agent_state_changed:loading',
      'system',
      'message',
      'agent_state_changed:running',
      'run',
      'run',
      'write',
      'write',
      'edit',
      'edit',
      'read',
      'read',
      'finish',
      'agent_state_changed:finished',
    ]);
    const run = events.find((event) => event.observation === 'run');
    expect(run).toMatchObject({
      cause: 4,
      content: expect.stringContaining('from the shell'),
      extras: { metadata: { exit_code: 0 } },
    });
    expect(events.find((event) => event.action === 'finish')).toMatchObject({ args: { final_thought: 'Ready.' } });
    const range = await v0.get<{ events: V0Event[] }>(at(id, '/events?start_id=2&end_id=4'));
    expect(range.events.map((event) => event.id)).toEqual([2, 3, 4]);
    expect(await v0.app.call('GET', at(id, '/events?limit=101'))).toMatchObject({
      status: 400,
      body: { detail: 'Invalid limit' },
    });
  });

  it('executes a command of the user, with `user` as the source of its events', async () => {
    const id = await v0.create({ replay_json: TRAJECTORY });
    await v0.stateReached(id, 'finished');
    const command = 'echo mine > mine.txt; echo done';
    expect((await v0.post(at(id, '/events'), { action: 'run', args: {} })).status).toBe(400);
    expect((await v0.post(at(id, '/events'), { action: 'run', args: { command } })).body).toEqual({ success: true });
    const events = await until(
      async () => (await v0.get<{ events: V0Event[] }>(at(id, '/events?reverse=true&limit=2'))).events,
      ([newest]) => newest?.observation === 'run' && newest.source === 'user',
    );
    expect(events).toMatchObject([
      { source: 'user', observation: 'run', content: 'done', cause: events[1]?.id, success: true },
      { source: 'user', action: 'run', args: { command } },
    ]);
    expect(await v0.get(at(id, '/select-file?file=mine.txt'))).toEqual({ code: 'mine\n' });
  });

  it('is not confirmed while no action is pending', async () => {
    const id = await v0.create({ replay_json: TRAJECTORY });
    await v0.stateReached(id, 'finished');
    const confirm = { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } };
    expect((await v0.post(at(id, '/events'), confirm)).status).toBe(409);
    expect((await v0.post(at(id, '/events'), { nope: 1 })).status).toBe(422);
    expect((await v0.post(at(id, '/events'), { action: 'message', args: { content: 'go on' } })).body).toEqual({
      success: true,
    });
    const state = await v0.stateReached(id, 'error');
    expect(state?.extras?.reason).toMatch(/model/i);
  });
});
