import { beforeEach, describe, expect, it } from 'vitest';
import { connectTo } from '../support/connect.ts';
import { connectedV1 } from '../support/connected-v1.ts';
import { type Reply } from '../support/fake-server.ts';
import { agentMessage, finish, ID, userMessage } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('the result of a V1 conversation', () => {
  it('is the answer to the latest user message, byte for byte', async () => {
    v1.world.addConversation();
    v1.world.agentEvents.push(userMessage('one'), finish('first'), userMessage('two'));
    expect(await v1.server.conversations.result(ID)).toBeNull();
    v1.world.agentEvents.push(agentMessage('  second\n\n'));
    expect(await v1.server.conversations.result(ID)).toBe('  second\n\n');
  });
});

describe('the result while the sandbox does not answer', () => {
  const atSandbox = `/agent/api/conversations/${ID}/events/search`;

  beforeEach(() => {
    v1.world.addConversation();
    v1.world.appEvents.push(userMessage('one'), finish('first'));
    v1.world.agentEvents.push(...v1.world.appEvents, userMessage('two'), finish('second'));
  });

  it('is read there again, because the copy may lack the newest message', async () => {
    let failures = 3;
    v1.on({ [`GET ${atSandbox}`]: () => (failures-- > 0 ? { cut: true } : filtered()) });
    expect(await v1.server.conversations.result(ID)).toBe('second');
  });

  it('is read from the copy in the end, with a notice', async () => {
    const notices: string[] = [];
    const server = await connectTo(v1.world.fake.url, { notice: (text) => notices.push(text) });
    v1.on({ [`GET ${atSandbox}`]: () => ({ cut: true }) });
    expect(await server.conversations.result(ID)).toBe('first');
    expect(notices.join()).toContain('may be up to 30 s behind');
    await server.close();
  });

  function filtered(): Reply {
    return { json: { items: v1.world.agentEvents.toReversed(), next_page_id: null } };
  }
});
