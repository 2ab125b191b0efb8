/**
 * The final answer to the latest user message: the message the agent finished with, or its last text (interface 12).
 * Read from the newest event backwards to that message, so an answer to an older one never counts.
 */
import type { AppError } from '../../errors.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import { hasEnded } from '../../runs/status.ts';
import type { Links } from '../links.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { untilCopyHas, type CopyNotices } from '../quirks/late-copy.ts';
import { eventRecords } from './events.ts';
import { runStateV1 } from './run-status.ts';

const ASK_AGAIN_MS = 1_000;
const LONG_SILENCE_MS = 10_000;

export async function resultV1(links: Links, copy: CopyNotices, id: string): Promise<string | null> {
  const record = await getConversation(links, id);
  const order = { order: 'newest-first' } as const;
  const agent = agentOf(links, record);
  if (agent === null) await copy.asleep(record);
  for await (const event of eventRecords(links, record.id, agent, order, askTwice(links, copy, record))) {
    if (event.kind === 'MessageEvent' && event.source === 'user') return null;
    const answer = answerOf(event);
    if (answer !== null) return links.network.redaction.known(answer);
  }
  return null;
}

/** The copy may lack the newest message and return the answer to the previous one: the sandbox is read again. */
function askTwice(
  links: Links,
  copy: CopyNotices,
  record: AppConversationRecord,
): (error: AppError) => Promise<'again' | 'copy'> {
  const startedAtMs = links.clock.now();
  let asked = 0;
  return async (error) => {
    asked += 1;
    if (error.kind === 'not-found' || error.kind === 'unsupported') return 'copy';
    // A sandbox that did not answer has already used up its time-out.
    if (asked === 1 && links.clock.now() - startedAtMs < LONG_SILENCE_MS) {
      await links.clock.sleep(ASK_AGAIN_MS, links.signal);
      return 'again';
    }
    copy.unreachable(record.id, error);
    // A run that has ended has its answer, which may not have reached the app server yet.
    const word = record.execution_status;
    if (word !== null && hasEnded(runStateV1(word, null).status)) await untilCopyHas(links, record.id, word);
    return 'copy';
  };
}

function answerOf(event: EventRecord): string | null {
  if (event.kind === 'ActionEvent') {
    const { action } = event.payload;
    if (!isRecord(action) || action['kind'] !== 'FinishAction') return null;
    return typeof action['message'] === 'string' && action['message'] !== '' ? action['message'] : null;
  }
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return null;
  const message = event.payload['llm_message'];
  const content = isRecord(message) && Array.isArray(message['content']) ? message['content'] : [];
  const texts = content.map((item: unknown) =>
    isRecord(item) && typeof item['text'] === 'string' ? item['text'] : '',
  );
  const text = texts.join('');
  return text === '' ? null : text;
}
