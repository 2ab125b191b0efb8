import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { findConversation } from '../ids.ts';

/** For commands that need more than a start task. Throws `conflict` while it is being started, `failed` when that failed. */
export async function findStarted(ctx: Context, server: Server, word: string): Promise<Conversation> {
  const conversation = await findConversation(ctx, server, word);
  refuseUnstarted(conversation, word);
  return conversation;
}

/** Throws as findStarted. */
export function refuseUnstarted(conversation: Conversation, word: string): void {
  if (conversation.id !== '') return;
  const task = conversation.start_task_id ?? word;
  if (conversation.status === 'failed') {
    throw new AppError('failed', `start task ${task} failed: ${conversation.reason?.text ?? 'no reason is known'}`);
  }
  throw new AppError('conflict', `start task ${task} is still being worked at: there is no conversation yet`, {
    hint: `wait for it: acs conv wait ${task}`,
    retryable: true,
  });
}
