import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { childNamed } from '../entries.ts';
import { TOPICS } from '../help-topics.ts';

/** Replaces commander's own `help`, which has no topics. */
export function declareHelp(root: Command, ctx: Context): void {
  root
    .command('help [words...]')
    .description('show help for a command or a topic')
    .helpOption('-h, --help', 'print help')
    .action(async (words: string[]) => printHelp(words, root, ctx));
}

async function printHelp(words: string[], root: Command, ctx: Context): Promise<void> {
  const topic = words.length === 1 ? TOPICS.find((known) => known === words[0]) : undefined;
  if (topic === undefined) return findCommand(words, root).help();
  ctx.out.check(null, 'raw');
  const [{ topicPage }, { layoutFor, pageText }] = await Promise.all([import('./texts.ts'), import('./layout.ts')]);
  await ctx.out.raw(pageText(await topicPage(topic), layoutFor(root, ctx.io.stdout.columns)));
}

/** Throws `usage` for words that name no command. */
function findCommand(words: string[], root: Command): Command {
  let command = root;
  for (const [index, word] of words.entries()) {
    const child = childNamed(command, word);
    if (!child) {
      const known = ['acs', ...words.slice(0, index)].join(' ');
      throw new AppError('usage', `no command or help topic "${words.join(' ')}"`, {
        hint: index === 0 ? `topics: ${TOPICS.join(', ')}; commands: acs --help` : `see: ${known} --help`,
      });
    }
    command = child;
  }
  return command;
}
