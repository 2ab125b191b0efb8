import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { findOne } from '../resource/find.ts';
import { conversations } from './conversations.ts';

/** For commands that need a conversation. Throws `conflict` while it is being started, `failed` when that failed. */
export async function findStarted(ctx: Context, server: Server, word: string): Promise<Conversation> {
  const conversation = await findOne(ctx, server, conversations, word);
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
  throw new AppError('conflict', `start task ${task} has not started its conversation yet`, {
    hint: `wait for it: acs conv wait ${task}`,
    retryable: true,
  });
}
