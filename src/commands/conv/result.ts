import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { checkIdWord } from '../ids.ts';
import { findStarted } from './started.ts';

export function declareResult(parent: Command, ctx: Context): void {
  const command = parent.command('result').description("print the agent's final answer to the latest message");
  command.argument('<id>', 'the conversation');
  explain(command, {
    notes: ['The answer is printed byte for byte, without a line feed of its own; on a terminal it is made safe.'],
    exits: ['not-found'],
    examples: [
      { command: 'acs conv result @last', does: 'prints the answer of the last conversation' },
      { command: 'acs conv result @last --output answer.md', does: 'writes it to a file' },
    ],
  });
  command.action((id: string) => printResult(id, ctx));
}

export async function printResult(word: string, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  checkIdWord(word);
  const server = await ctx.server();
  const { id, status } = await findStarted(ctx, server, word);
  const answer = await server.conversations.result(id);
  if (answer === null) {
    throw new AppError('not-found', `conversation ${id} (${status}) has no answer to the latest message yet`, {
      hint: `wait for it: acs conv wait ${id}`,
    });
  }
  await ctx.out.raw(answer);
  // On a terminal the prompt that follows belongs on a line of its own.
  if (ctx.io.stdout.isTTY && ctx.globals.output === undefined && !answer.endsWith('\n')) await ctx.out.raw('\n');
}
