import { AppError } from '../../base/errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { OutgoingMessage } from '../shared/server.ts';

export const POLICIES = {
  never: 'NeverConfirm',
  risky: 'ConfirmRisky',
  always: 'AlwaysConfirm',
} as const;

/** Servers refuse unknown members inside a text block (interface 4.1). */
export function messageContent(
  request: Pick<NewConversation, 'message' | 'image_urls'>,
): Record<string, unknown>[] {
  const content: Record<string, unknown>[] = [];
  if (request.message !== null && request.message !== '')
    content.push({ type: 'text', text: request.message });
  if (request.image_urls.length > 0)
    content.push({ type: 'image', image_urls: request.image_urls });
  return content;
}

export function outgoingContent({ text, image_urls }: OutgoingMessage): Record<string, unknown>[] {
  const content = messageContent({ message: text, image_urls });
  if (content.length === 0) throw new AppError('usage', 'the message is empty');
  return content;
}
