import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { changeOne } from '../bulk.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { findStarted } from './started.ts';
import { conversationView } from './view.ts';

/** More is refused by servers that still speak V0 (interface 3.3). */
const TITLE_MAX = 200;

export function declareRename(parent: Command, ctx: Context): void {
  const command = parent.command('rename').description('change the title of a conversation');
  command.argument('<id>', 'the conversation').argument('<title>', `the new title, at most ${TITLE_MAX} characters`);
  explain(command, {
    json: ({ objectForm }) => [objectForm(conversationView, 'changed')],
    exits: ['not-found', 'unsupported', 'conflict'],
    examples: [
      { command: "acs conv rename @last 'Repair the login tests'", does: 'rename the last conversation' },
      {
        command: "acs conv rename @last 'Repair the login tests' --dry-run",
        does: 'print the request without sending it',
      },
    ],
  });
  command.action((id: string, title: string) => renameConversation(id, title, ctx));
}

export async function renameConversation(word: string, title: string, ctx: Context): Promise<void> {
  ctx.out.check(conversationView, 'item');
  checkWord(conversations, word);
  const wanted = checkTitle(title);
  const server = await ctx.server();
  const conversation = await findStarted(ctx, server, word);
  await changeOne(ctx, conversationView, async () => {
    const changed = conversation.title !== wanted;
    const record = changed ? await server.conversations.rename(conversation.id, wanted) : conversation;
    return { changed, before: conversation.title, after: record.title, record };
  });
}

/** Throws `usage` for a title no server takes. */
export function checkTitle(title: string): string {
  const wanted = title.trim();
  if (wanted === '') throw new AppError('usage', 'the title is empty');
  if ([...wanted].length > TITLE_MAX) {
    throw new AppError('usage', `the title has ${[...wanted].length} characters; the limit is ${TITLE_MAX}`);
  }
  return wanted;
}
