import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { findStarted } from './started.ts';

export function declareResult(parent: Command, ctx: Context): void {
  const command = parent.command('result').description("print the agent's final answer to the latest message");
  command.argument('<id>', 'the conversation');
  explain(command, {
    notes: ['The answer is printed byte for byte; on a terminal control characters are made safe.'],
    exits: ['not-found'],
    examples: [
      { command: 'acs conv result @last', does: 'print the answer of the last conversation' },
      { command: 'acs conv result @last --output answer.md', does: 'write it to a file' },
    ],
  });
  command.action((id: string) => printResult(id, ctx));
}

export async function printResult(word: string, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  checkWord(conversations, word);
  const server = await ctx.server();
  const { id } = await findStarted(ctx, server, word);
  const answer = await server.conversations.result(id);
  if (answer === null) throw noAnswer(await server.conversations.getComplete(id));
  await ctx.out.raw(answer);
  // On a terminal the prompt that follows belongs on a line of its own.
  if (ctx.out.onTerminal && !answer.endsWith('\n')) await ctx.out.raw('\n');
}

/** What to do next depends on whether an answer can still come, and on what it waits for. */
function noAnswer({ id, status, waiting_for, reason }: Conversation): AppError {
  const error = (message: string, hint: string) => new AppError('not-found', `conversation ${id} ${message}`, { hint });
  switch (status) {
    case 'failed':
    case 'stuck':
      return error(
        `is ${status} and gave no answer to the latest message${reason === null ? '' : `: ${reason.text}`}`,
        `see what it did: acs conv events ${id}`,
      );
    case 'finished':
      return error('has finished without a text answer', `see what it did: acs conv events ${id}`);
    case 'archived':
      return error(
        'has no answer to the latest message, and its sandbox no longer exists',
        `its events are kept: acs conv events ${id}`,
      );
    case 'paused':
    case 'stopped':
      return error(
        `is ${status} and has not answered the latest message`,
        `see its status: acs conv show ${id}; continue it: acs conv send ${id} --resume`,
      );
    case 'waiting':
      return error(
        `waits for ${waiting_for === 'user' ? 'its user' : 'a confirmation'} and has not answered the latest message`,
        waiting_for === 'user'
          ? `see what it asks: acs conv events ${id} --tail 5`
          : `see and answer it: acs conv confirm ${id}`,
      );
    default:
      return error(
        `(${status}) has no answer to the latest message yet`,
        status === 'idle' ? `see its status: acs conv show ${id}` : `wait for it: acs conv wait ${id}`,
      );
  }
}
