/** The log of a conversation as the archive that genuine agent servers give: one JSON file for each event. */
import { zipStream, type ZipMember } from '../http/zip-stream.ts';
import type { ConversationEntry } from './conversations.ts';
import { conversationView } from './views.ts';

export function trajectoryArchive(entry: ConversationEntry): ReadableStream<Uint8Array<ArrayBuffer>> {
  return zipStream(membersOf(entry));
}

function* membersOf(entry: ConversationEntry): Generator<ZipMember> {
  const { conversation } = entry;
  const { state } = conversation;
  const folder = conversation.id;
  const view = conversationView(entry);
  const meta = {
    conversation_id: view['id'],
    workspace: view['workspace'],
    max_iterations: state.max_iterations,
    confirmation_policy: state.confirmation_policy,
    agent: view['agent'],
    tags: state.tags,
  };
  yield [`${folder}/base_state.json`, json(view)];
  yield [`${folder}/meta.json`, json(meta)];
  let index = 0;
  for (const event of conversation.history()) {
    const name = `event-${String(index).padStart(5, '0')}-${event.id}.json`;
    yield [`${folder}/events/${name}`, json(event)];
    index += 1;
  }
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
