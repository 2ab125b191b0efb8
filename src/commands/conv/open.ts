import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { openConversation } from './conversations.ts';

export interface OpenOptions {
  /** False: --no-browser. */
  browser: boolean;
}

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
  command.action((id: string, options: OpenOptions) => openPage(id, options, ctx));
}

export async function openPage(word: string, options: OpenOptions, ctx: Context): Promise<void> {
  const { format, fields, output } = ctx.globals;
  ctx.out.check(webPageView, 'item');
  const { server, conversation } = await openConversation(ctx, word);
  const { id } = conversation;
  const { url, valid_seconds: seconds } = await server.conversations.webPage(id);
  if (format !== undefined || fields !== undefined)
    return await ctx.out.item(webPageView, { id, url });
  await ctx.out.raw(`${url}\n`);
  if (
    !options.browser ||
    output !== undefined ||
    ctx.terminal.offTerminal ||
    !ctx.terminal.io.stdout.isTTY
  )
    return;
  const validity = seconds === null ? '' : `; the link is valid once, for ${seconds} s`;
  const isOpen = await ctx.terminal.openBrowser(url);
  await ctx.notice(
    isOpen ? `opened it in the browser${validity}` : `no browser was found${validity}`,
  );
}
