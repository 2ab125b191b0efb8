import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { declareCommands } from '../../src/commands/index.ts';
import type { Context } from '../../src/context.ts';

describe('a verb of conv', () => {
  const conv = async (words: string[] | 'all') => {
    const root = new Command('acs');
    await declareCommands(root, {} as Context, words);
    return root.commands.find((command) => command.name() === 'conv') as Command;
  };

  it('has the same description and arguments in its noun as in its own help', async () => {
    const described = async (words: string[] | 'all') =>
      (await conv(words)).commands.map((verb) => ({
        name: verb.name(),
        aliases: verb.aliases(),
        description: verb.description(),
        usage: verb.usage().replace('[options] ', ''),
      }));
    expect(await described(['conv'])).toEqual(await described('all'));
  });

  it('is loaded under each of its names, without the other verbs', async () => {
    const loaded = async (word: string) =>
      (await conv(['conv', word])).commands.filter((verb) => verb.options.length > 0).map((verb) => verb.name());
    for (const word of ['delete', 'rm', 'remove']) expect(await loaded(word)).toEqual(['delete']);
  });
});
