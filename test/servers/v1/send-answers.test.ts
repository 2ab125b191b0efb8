import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { ID } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('a message to a V1 conversation', () => {
  const path = `/api/v1/app-conversations/${ID}`;
  const addFinished = (): void => {
    v1.world.addConversation({ execution_status: 'finished' });
    v1.world.agentState['execution_status'] = 'finished';
  };

  it('sends a message through the app server, once', async () => {
    addFinished();
    v1.on({ [`POST ${path}/send-message`]: () => ({ json: { success: true } }) });
    await v1.server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(v1.asked(`POST ${path}/send-message`)?.body).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'go on' }],
      run: true,
    });
  });

  it.each([
    [409, { detail: 'Sandbox is not running, call resume' }, 'conflict'],
    [410, { detail: 'gone' }, 'conflict'],
    [404, { detail: 'Sandbox not found for conversation' }, 'conflict'],
    [404, { detail: 'unknown_app_conversation' }, 'not-found'],
    [502, { detail: 'Agent server error: 500' }, 'server'],
    [502, { detail: 'Failed to reach agent v1.server.' }, 'unknown-outcome'],
  ])('reports a send that got %i %j as %s', async (code, json, kind) => {
    addFinished();
    v1.on({ [`POST ${path}/send-message`]: () => ({ status: code, json }) });
    expect((await failure(v1.server.conversations.send(ID, { text: 'x', image_urls: [] }))).kind).toBe(kind);
  });

  it('reports an unknown outcome when a gateway timed out', async () => {
    addFinished();
    v1.on({ [`POST ${path}/send-message`]: () => ({ status: 502, type: 'text/html', text: '<h1>Bad Gateway</h1>' }) });
    const error = await failure(v1.server.conversations.send(ID, { text: 'x', image_urls: [] }));
    expect([error.kind, error.details.hint]).toEqual(['unknown-outcome', expect.stringContaining('conv events')]);
  });
});
