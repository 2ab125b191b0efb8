import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { isUntitled, type Conversation } from '../../domain/conversation.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { isWorking } from '../../runs/status.ts';
import { changeOne } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { conversationView } from './conversations.ts';
import { openConversation } from './find-conversation.ts';

/** More is refused by servers that still speak V0 (interface 3.3). */
const TITLE_MAX = 200;

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .argument('<title>', `the new title, at most ${TITLE_MAX} characters`);
  explain(command, {
    json: ({ objectForm }) => [objectForm(conversationView, 'changed')],
    exits: ['not-found', 'unsupported', 'conflict'],
    examples: {
      "acs conv rename @last 'Repair the login tests'": 'rename the last conversation',
    },
  });
  command.action(async (word: string, title: string) => {
    ctx.out.check(conversationView, 'item');
    const wanted = checkTitle(title);
    const { server, conversation } = await openConversation(ctx, word);
    await changeOne(ctx, conversationView, 'renamed', async () => {
      const { title: before } = conversation;
      if (before === wanted)
        return { changed: false, before, after: JSON.stringify(wanted), record: conversation };
      let record = await server.conversations.rename(conversation.id, wanted);
      if (isWorking(record.status)) {
        // A run that is in progress has replaced the title after this time.
        await ctx.clock.sleep(1_000, ctx.signal);
        ({ record } = await keepTitle(ctx, server, conversation.id, wanted));
      }
      if (record.title !== wanted)
        await ctx.warn(`the server replaced the title with ${JSON.stringify(record.title)}`);
      else if (isUntitled(before)) await noticeOwnTitle(ctx, server, record);
      return { changed: true, before, after: record.title, record };
    });
  });
}

/** Servers without a V1 route for a rename may store the title that they generate later. */
export async function noticeOwnTitle(
  ctx: Context,
  server: Server,
  { id, dialect, status }: Conversation,
): Promise<void> {
  if (server.presence('rename') === 'present' || (dialect === 'v0' && !isWorking(status))) return;
  const when = 'up to about 30 s after the start this server may replace the title with its own';
  await ctx.notice(`${when}; set it again: acs conv rename ${id} <title>`);
}

/** Servers may replace a title while a run is in progress: it is compared, and set once more. */
export async function keepTitle(
  ctx: Context,
  server: Server,
  id: string,
  title: string,
): Promise<{ record: Conversation; isReplaced: boolean }> {
  const record = await readThroughOutage(ctx, () => server.conversations.get(id));
  const isReplaced = record.title !== title;
  return { record: isReplaced ? await server.conversations.rename(id, title) : record, isReplaced };
}

export function checkTitle(title: string): string {
  const wanted = title.trim();
  if (wanted === '') throw new AppError('usage', 'the title is empty');
  if ([...wanted].length > TITLE_MAX)
    throw new AppError(
      'usage',
      `the title has ${[...wanted].length} characters; the limit is ${TITLE_MAX}`,
    );
  return wanted;
}
