/** A message to a V0 conversation. */
import { AppError } from '../../errors.ts';
import { waitsForConfirmation } from '../confirmation.ts';
import type { Links } from '../links.ts';
import type { OutgoingMessage } from '../server.ts';
import { serverText } from '../transport/answer.ts';
import { refuseWaitingV0 } from './answers.ts';
import { getConversationV0, runtimeOf, V0_TIMEOUT_MS } from './calls.ts';

/** As a raw action: the route for messages is younger than V0 itself (interface 3.4). Sent once. */
export async function sendV0(links: Links, id: string, message: OutgoingMessage): Promise<void> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() !== 'RUNNING') {
    throw new AppError('conflict', `this conversation does not run (it is ${info.status.toLowerCase()})`, {
      hint: 'resume it with: acs conv send --resume',
    });
  }
  await refuseWaitingV0(links, info);
  const { transport, path } = runtimeOf(links, info);
  const answer = await transport.request({
    method: 'POST',
    path: `${path}/events`,
    body: { action: 'message', args: { content: message.text, image_urls: message.image_urls } },
    safe: 'once',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [409],
  });
  if (answer.status !== 409) return;
  const text = serverText(answer.body) ?? 'it names no reason';
  if (/confirmation/i.test(text)) throw waitsForConfirmation(info.conversation_id);
  throw new AppError('conflict', `the server refuses this message: ${text}`, {
    status: 409,
    request: answer.request,
  });
}
