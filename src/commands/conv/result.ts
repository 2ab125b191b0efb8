import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { Conversation, ConversationStatus } from '../../domain/conversation.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { openConversation } from './find-conversation.ts';

export const answerView: View<{ id: string; text: string; event_id: string }> = {
  noun: 'answer',
  id: (answer) => answer.id,
  fields: [{ name: 'id', as: 'id' }, { name: 'text' }, { name: 'event_id', as: 'id' }],
  table: ['id', 'text'],
};

export function declare(command: Command, ctx: Context): void {
  command.argument('<id>', 'the conversation');
  explain(command, {
    notes: ['The answer is printed byte for byte; on a terminal control characters are made safe.'],
    isRaw: true,
    json: ({ objectForm }) => [['--json', objectForm(answerView)]],
    exits: ['not-found'],
    examples: {
      'acs conv result @last': 'print the answer of the last conversation',
      'acs conv result @last --output answer.md': 'write it to a file',
    },
  });
  command.action(async (word: string) => {
    const isJson = ctx.globals.format === 'json';
    if (isJson) ctx.out.check(answerView, 'item');
    else ctx.out.check(null, 'raw');
    const { server, conversation } = await openConversation(ctx, word);
    const answer = await server.conversations.result(conversation);
    if (answer === null) throw noAnswer(await server.conversations.getComplete(conversation));
    if (isJson) return await ctx.out.item(answerView, { id: conversation.id, ...answer });
    await ctx.out.raw(answer.text);
    // On a terminal the prompt that follows belongs on a line of its own.
    if (ctx.out.onTerminal && !answer.text.endsWith('\n')) await ctx.out.raw('\n');
  });
}

function noAnswer({ id, status, waiting_for, reason }: Conversation): AppError {
  const why = reason === null ? '' : `: ${reason.text}`;
  const hints: Partial<Record<ConversationStatus, string>> = {
    running: `wait for it: acs conv wait ${id}`,
    starting: `wait for it: acs conv wait ${id}`,
    paused: `continue it: acs conv resume ${id}`,
    stopped: `continue it: acs conv resume ${id}`,
    ...(waiting_for === 'confirmation' && { waiting: `see and answer it: acs conv confirm ${id}` }),
  };
  return new AppError(
    'not-found',
    `conversation ${id} (${status}) has no answer to the latest message${why}`,
    {
      hint: hints[status] ?? `see its events: acs conv events ${id} --tail 5`,
    },
  );
}
