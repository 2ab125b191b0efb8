import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { event, finish, ID, status, userMessage } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('the complete record of a V1 conversation', () => {
  it('keeps a finished run finished when its sandbox is paused or gone', async () => {
    v1.world.appEvents.push(status('running'), finish('done'), status('finished'));
    for (const sandbox_status of ['PAUSED', 'MISSING']) {
      v1.world.addConversation({
        sandbox_status,
        execution_status: null,
        conversation_url: null,
        session_api_key: null,
      });
      expect((await v1.server.conversations.getComplete(ID)).status).toBe('finished');
    }
    v1.world.appEvents.push(status('running'));
    expect((await v1.server.conversations.getComplete(ID)).status).toBe('archived');
  });

  it('reads the reason of a failure from the sandbox', async () => {
    v1.world.addConversation({ execution_status: 'error' });
    v1.world.agentEvents.push(
      userMessage('go'),
      event('ConversationErrorEvent', { code: 'LLMAuthenticationError', detail: 'the key is wrong' }),
      status('error'),
    );
    expect(await v1.server.conversations.getComplete(ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'LLMAuthenticationError', text: 'the key is wrong' },
    });
  });
});
