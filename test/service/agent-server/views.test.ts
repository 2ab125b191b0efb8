import { unzipSync } from 'fflate';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AbsentAgent } from '../../../src/service/agents/agent.ts';
import { Conversation } from '../../../src/service/agent-server/conversation.ts';
import type { ConversationEntry } from '../../../src/service/agent-server/conversations.ts';
import { action, agentMessage } from '../../../src/service/agent-server/events.ts';
import { RunLoop } from '../../../src/service/agent-server/run-loop.ts';
import type { Sandbox } from '../../../src/service/agent-server/sandbox.ts';
import { conversationView, finalResponse, trajectoryArchive } from '../../../src/service/agent-server/views.ts';
import { openEventLog } from '../../../src/service/storage/event-log.ts';
import { logFileOfTest, RUNNING } from './support/conversation-of-test.ts';

const log = logFileOfTest();
let conversation: Conversation;
let entry: ConversationEntry;
beforeEach(() => {
  const now = () => 1_800_000_000_000_000;
  conversation = new Conversation(RUNNING, openEventLog(log.file), now, () => undefined);
  entry = { conversation, loop: new RunLoop(conversation, new AbsentAgent(), {} as Sandbox) };
});
afterEach(() => {
  conversation.close();
});

const say = (text: string): void => void conversation.record([agentMessage(text)]);
const finish = (message: string): void =>
  void conversation.record([action({ type: 'finish', message, thought: '' }, 'call_1')]);

it('the record of a conversation names its secrets without their values', () => {
  conversation.setSecrets({ TOKEN: 'hush-1' });
  const view = conversationView(entry);
  expect(view).toMatchObject({
    id: 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa',
    secret_registry: { secret_sources: { TOKEN: { value: null } } },
    agent: { agent_context: { secrets: { TOKEN: { value: null } } }, llm: { api_key: null } },
    leaf_event_id: null,
  });
  expect(JSON.stringify(view)).not.toContain('hush-1');
  const [event] = conversation.record([agentMessage('x')]);
  expect(conversationView(entry)['leaf_event_id']).toBe(event?.id);
});

it('the final response is the newest of the messages and the ends, also when the user has written since', () => {
  expect(finalResponse(entry)).toBe('');
  say('one');
  finish('two');
  expect(finalResponse(entry)).toBe('two');
  conversation.addMessage('user', [{ type: 'text', text: 'And now?' }]);
  expect(finalResponse(entry)).toBe('two');
  say('three');
  expect(finalResponse(entry)).toBe('three');
});

it('the archive of a conversation has a file for its state, and one for each event in order', async () => {
  for (let index = 0; index < 120; index += 1) say(String(index));
  const files = unzipSync(new Uint8Array(await new Response(await trajectoryArchive(entry)).arrayBuffer()));
  const names = Object.keys(files);
  expect(names.slice(0, 2)).toEqual([`${conversation.id}/base_state.json`, `${conversation.id}/meta.json`]);
  const events = [...conversation.history()];
  expect(names.slice(2)).toEqual(
    events.map(({ id }, at) => `${conversation.id}/events/event-${String(at).padStart(5, '0')}-${id}.json`),
  );
  const last = files[names.at(-1) ?? ''] ?? new Uint8Array();
  expect(JSON.parse(Buffer.from(last).toString('utf8'))).toEqual(events.at(-1));
});
