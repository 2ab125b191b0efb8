/** An export as one JSON object a line. */
import { recordOf } from '../../../output/fields.ts';
import { jsonLine, jsonLines } from '../../../output/json.ts';
import { eventView } from '../event-view.ts';
import { conversationView } from '../view.ts';
import type { ExportRecord } from './record.ts';

export async function* ndjsonParts({ conversation, events, diff }: ExportRecord): AsyncGenerator<string | Uint8Array> {
  yield jsonLine({ type: 'conversation', ...recordOf(conversationView, conversation, undefined) });
  const view = eventView(null);
  for await (const page of events()) yield jsonLines(page.map((event) => recordOf(view, event, undefined)));
  const { patch, ...members } = await diff();
  yield jsonLine({ type: 'diff', ...members, patch: new TextDecoder().decode(patch) });
}
