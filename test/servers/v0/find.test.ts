import { describe, expect, it } from 'vitest';
import { connectedV0, ID, older, stateChanged } from '../support/connected-v0.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND } from '../support/fake-server.ts';

const v0 = connectedV0();

describe('a V0 conversation', () => {
  it('is listed with the statuses of acs', async () => {
    const { items, next } = await v0.server.conversations.list({}, null);
    expect(next).toBeNull();
    expect(items.map((one) => one.status)).toEqual(['running', 'running', 'running', 'stopped', 'stopped']);
    expect(items[0]).toMatchObject({
      id: '5cd7192ff2e443128168ffd09410384c',
      dialect: 'v0',
      execution_status: null,
      sandbox_id: null,
    });
  });

  it('has the status of its newest agent state, which alone reports failures', async () => {
    v0.world.events = (older.body('v0.error.401.tail') as { events: Record<string, unknown>[] }).events.toReversed();
    expect(await v0.server.conversations.get(ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'ERROR_LLM_AUTHENTICATION', text: 'error llm authentication' },
    });
  });

  it('is finished when the agent has answered and waits for the user, idle before that', async () => {
    const last = v0.world.events.length;
    v0.world.events = [
      { id: 0, source: 'user', action: 'message', args: { content: 'hi' } },
      stateChanged(1, 'awaiting_user_input'),
    ];
    expect((await v0.server.conversations.get(ID)).status).toBe('idle');
    v0.world.events.splice(1, 0, { id: 1, source: 'agent', action: 'message', args: { content: 'hello' } });
    v0.world.events[2] = stateChanged(2, 'awaiting_user_input');
    expect((await v0.server.conversations.get(ID)).status).toBe('finished');
    expect(last).toBeGreaterThan(0);
  });

  it('stays finished after it was stopped', async () => {
    v0.world.record = { ...v0.world.record, status: 'STOPPED' };
    v0.world.events = [stateChanged(0, 'running'), stateChanged(1, 'finished'), stateChanged(2, 'stopped')];
    expect((await v0.server.conversations.get(ID)).status).toBe('finished');
    v0.world.events = [stateChanged(0, 'running'), stateChanged(1, 'stopped')];
    expect((await v0.server.conversations.get(ID)).status).toBe('stopped');
  });

  it('is not found where the server answers null, or 404', async () => {
    v0.world.before = ({ path }) => (path.endsWith(ID) ? { json: null } : null);
    expect((await failure(v0.server.conversations.get(ID))).kind).toBe('not-found');
    v0.world.before = ({ path }) => (path.endsWith(ID) ? NOT_FOUND : null);
    expect((await failure(v0.server.conversations.get(ID))).kind).toBe('not-found');
  });
});
