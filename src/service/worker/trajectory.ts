/** The log of a conversation as the archive that genuine agent servers give: one JSON file for each event. */
import { strToU8, zipSync, type Zippable } from 'fflate';
import type { ConversationEntry } from './conversations.ts';
import { conversationView } from './views.ts';

export function trajectoryArchive(entry: ConversationEntry): Uint8Array<ArrayBuffer> {
  const { conversation } = entry;
  const { state } = conversation;
  const folder = conversation.id;
  const view = conversationView(entry);
  const files: Zippable = {
    [`${folder}/base_state.json`]: strToU8(JSON.stringify(view)),
    [`${folder}/meta.json`]: strToU8(
      JSON.stringify({
        conversation_id: view['id'],
        workspace: view['workspace'],
        max_iterations: state.max_iterations,
        confirmation_policy: state.confirmation_policy,
        agent: view['agent'],
        tags: state.tags,
      }),
    ),
  };
  let index = 0;
  for (const event of conversation.history()) {
    const name = `event-${String(index).padStart(5, '0')}-${event.id}.json`;
    files[`${folder}/events/${name}`] = strToU8(JSON.stringify(event));
    index += 1;
  }
  return zipSync(files);
}
