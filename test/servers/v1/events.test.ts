import { describe, expect, it } from 'vitest';
import { eachEvent } from '../../../src/domain/event.ts';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { event, finish, ID, SANDBOX_KEY, userMessage } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('the events of a V1 conversation', () => {
  it('come from the sandbox while it runs, else from the app server, without stream deltas and duplicates', async () => {
    v1.world.addConversation();
    const sent = [userMessage('hello'), finish('bye')];
    v1.world.agentEvents.push(
      sent[0] ?? {},
      event('StreamingDeltaEvent', { content: 'b' }),
      event('ConversationStateUpdateEvent', { key: 'full_state', value: {} }),
      sent[1] ?? {},
    );
    const kinds = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const one of eachEvent(v1.server.conversations.eventPages(ID, {})))
        found.push(`${one.kind}: ${one.text}`);
      return found;
    };
    expect(await kinds()).toEqual(['MessageEvent: hello', 'ActionEvent: bye']);
    v1.world.addConversation({
      sandbox_status: 'PAUSED',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    expect(await kinds()).toEqual([]);
    v1.world.appEvents.push(...sent, sent[1] ?? {});
    expect(await kinds()).toEqual(['MessageEvent: hello', 'ActionEvent: bye']);
  });

  it('are read from the app server when the sandbox has lost the conversation', async () => {
    v1.world.addConversation();
    v1.world.appEvents.push(finish('kept'));
    v1.world.before = ({ path }) =>
      path.startsWith('/agent/') ? { status: 404, json: { detail: 'Conversation not found' } } : null;
    const texts: string[] = [];
    for await (const one of eachEvent(v1.server.conversations.eventPages(ID, { order: 'newest-first', limit: 1 })))
      texts.push(one.text);
    expect(texts).toEqual(['kept']);
  });

  it('carry no key of the sandbox', async () => {
    v1.world.addConversation();
    v1.world.agentEvents.push(
      event('ObservationEvent', {
        observation: { kind: 'TerminalObservation', content: [{ type: 'text', text: `env: ${SANDBOX_KEY}` }] },
      }),
    );
    for await (const one of eachEvent(v1.server.conversations.eventPages(ID, {}))) {
      expect(JSON.stringify(one)).not.toContain(SANDBOX_KEY);
      expect(one.text).toBe('env: <redacted>');
    }
  });

  it('come once each when the sandbox repeats one and stops answering, and the copy is read from its start', async () => {
    v1.world.addConversation();
    const [first, second, third] = [userMessage('first'), userMessage('second'), finish('third')];
    v1.world.appEvents.push(first, second, third);
    v1.world.before = ({ path, query }) => {
      if (!path.startsWith('/agent/') || !path.endsWith('/events/search')) return null;
      if (query.has('page_id')) return { status: 404, json: { detail: 'Conversation not found' } };
      return { json: { items: [first, second, second], next_page_id: '2' } };
    };
    const texts: string[] = [];
    for await (const one of eachEvent(v1.server.conversations.eventPages(ID, {}))) texts.push(one.text);
    expect(texts).toEqual(['first', 'second', 'third']);
  });

  it('end with an error when the server repeats a page', async () => {
    v1.world.addConversation();
    v1.world.before = ({ path }) =>
      path.endsWith('/events/search') ? { json: { items: [], next_page_id: '7' } } : null;
    const all = async (): Promise<void> => {
      for await (const _ of eachEvent(v1.server.conversations.eventPages(ID, {}))) continue;
    };
    expect((await failure(all())).message).toContain('repeats the page 7');
  });
});
