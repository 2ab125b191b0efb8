/**
 * The pages of help for 80 columns and more, which bin/acs.cjs prints without loading the program.
 */
import { TOPIC_PAGES } from '../../src/commands/help/index.ts';
import { commandHelp, layoutFor, pageText } from '../../src/commands/help/page.ts';
import { TOPICS } from '../../src/commands/shared/declare.ts';
import { allCommands, realTree } from '../commands.ts';

const COLUMNS = 80;

/** Text by file name: `acs.conv.list.txt`, `topic.exit-codes.txt`. */
export async function helpPages(): Promise<Map<string, string>> {
  const layout = layoutFor(await realTree(), COLUMNS);
  const pages = new Map<string, string>();
  for (const { path, command } of await allCommands())
    pages.set(`${path.replaceAll(' ', '.')}.txt`, commandHelp(command, COLUMNS));
  for (const topic of TOPICS) pages.set(`topic.${topic}.txt`, pageText(TOPIC_PAGES[topic], layout));
  return pages;
}
