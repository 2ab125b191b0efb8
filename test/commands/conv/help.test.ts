import { describe, expect, it } from 'vitest';
import { realTree } from '../../../scripts/generate.ts';
import { completionTree } from '../../../src/commands/completion/tree.ts';
import { invoke } from '../../support/world.ts';

const conv = completionTree(await realTree()).commands.find(({ names }) => names[0] === 'conv');
const verbs = (conv?.commands ?? []).map(({ names: [name = '', ...aliases] }) => ({ name, aliases }));

const help = async (...words: string[]): Promise<string> => {
  const { code, out, err } = await invoke({ args: [...words, '--help'], cwd: '/' });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};

/** What users read; a change of it shows in review, and `vitest run … --update` takes it over. */
describe('the help of', () => {
  it('conv', async () => {
    await expect(await help('conv')).toMatchFileSnapshot('help/conv.txt');
  });

  it.each(verbs)('conv $name', async ({ name }) => {
    await expect(await help('conv', name)).toMatchFileSnapshot(`help/${name}.txt`);
  });

  it.each(verbs.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name] as const)))(
    'conv %s is that of %s',
    async (alias, verb) => {
      expect(await help('conversation', alias)).toBe(await help('conv', verb));
    },
  );
});
