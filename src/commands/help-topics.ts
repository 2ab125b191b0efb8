import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import { childNamed } from './entries.ts';
import { TOPICS } from './topics.ts';

/** Takes the place of commander's own `help`, which knows no topics. */
export function declareHelpTopics(root: Command, ctx: Context): void {
  root
    .command('help [words...]')
    .description(`help for a command, or for a topic: ${TOPICS.join(', ')}`)
    .helpOption('-h, --help', 'print help')
    .action(async (words: string[]) => printHelp(words, root, ctx));
}

async function printHelp(words: string[], root: Command, ctx: Context): Promise<void> {
  const topic = words.length === 1 ? TOPICS.find((known) => known === words[0]) : undefined;
  if (topic !== undefined) {
    ctx.out.check(null, 'raw');
    const { topicText } = await import('./help-texts.ts');
    return await ctx.out.raw(topicText(topic));
  }
  findCommand(words, root).help();
}

/** Throws `usage` for words that lead nowhere. */
function findCommand(words: string[], root: Command): Command {
  let command = root;
  for (const word of words) {
    const child = childNamed(command, word);
    if (!child) {
      throw new AppError('usage', `there is no help for "${words.join(' ')}"`, {
        hint: `topics: ${TOPICS.join(', ')}; \`acs --help\` lists the commands`,
      });
    }
    command = child;
  }
  return command;
}
