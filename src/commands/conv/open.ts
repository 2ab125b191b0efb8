import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { openConversation } from './find-conversation.ts';

export const webPageView: View<{ id: string; url: string }> = {
  noun: 'web page',
  id: ({ id }) => id,
  fields: [{ name: 'id' }, { name: 'url' }],
};

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .option('-n, --no-browser', 'print the address, and open nothing');
  explain(command, {
    notes: [
      'On a terminal the page is opened in $BROWSER or the browser of the desktop. The ' +
        'address is printed. Outside a terminal, or with an output flag, nothing is opened.',
      'The local service shows the conversation live and read-only. Its address is a link ' +
        'that can be used once, within 60 seconds; it contains no key. The browser then keeps ' +
        'a cookie for this page alone, for 12 hours. Other servers show their web interface.',
    ],
    json: ({ objectForm }) => [objectForm(webPageView)],
    exits: ['not-found', 'conflict', 'unsupported'],
    examples: {
      'acs conv open @last': 'watch the last conversation in a browser',
      'acs conv open @last --no-browser': 'print its address, to be opened elsewhere',
    },
  });
  command.action(async (word: string, { browser }: { browser: boolean }) => {
    ctx.out.check(webPageView, 'item');
    const { server, conversation } = await openConversation(ctx, word);
    const { id } = conversation;
    const { url, valid_seconds: seconds } = await server.conversations.webPage(id);
    const { format, fields, output } = ctx.globals;
    if ((format ?? fields) !== undefined) return await ctx.out.item(webPageView, { id, url });
    await ctx.out.raw(`${url}\n`);
    const { offTerminal, io, openBrowser } = ctx.terminal;
    if (!browser || output !== undefined || offTerminal || !io.stdout.isTTY) return;
    const result = (await openBrowser(url)) ? 'opened it in the browser' : 'no browser was found';
    const validity = seconds === null ? '' : `; the link is valid once, for ${seconds} s`;
    await ctx.notice(result + validity);
  });
}
