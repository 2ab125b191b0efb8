import { describe, expect, it } from 'vitest';
import { realTree } from '../../../scripts/generate.ts';
import { completionTree, flatten } from '../../../src/commands/completion/tree.ts';
import { TOPICS } from '../../../src/commands/help-topics.ts';
import { invoke } from '../../support/world.ts';

const commands = flatten(completionTree(await realTree())).map(({ path }) => [...path.split(' ').slice(1), '--help']);
const pages = [...commands, ...TOPICS.map((topic) => ['help', topic])].map((args) => ({ args, name: args.join(' ') }));

const linesAt = async (columns: number | undefined, args: string[]): Promise<string[]> => {
  const { code, out, err } = await invoke({ args, cwd: '/', ...(columns === undefined ? {} : { columns }) });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out.split('\n');
};

describe.each([20, 40, 60, 80, 200])('at %i columns', (columns) => {
  it.each(pages)(
    'no line of acs $name is longer than the width, except a long word on a line of its own',
    async ({ args }) => {
      const width = Math.min(columns, 80);
      const tooLong = (await linesAt(columns, args)).filter((line) => line.length > width);

      expect(tooLong.filter((line) => line.trim().includes(' '))).toEqual([]);
      if (width === 80) expect(tooLong).toEqual([]);
    },
  );
});

it('help is as wide on a pipe and on a wide terminal as on a terminal of 80 columns', async () => {
  for (const { args } of pages) {
    const standard = await linesAt(80, args);
    expect(await linesAt(undefined, args)).toEqual(standard);
    expect(await linesAt(200, args)).toEqual(standard);
  }
});

it('help breaks lines at blanks only: every width prints the same words', async () => {
  const words = async (columns: number, args: string[]) =>
    (await linesAt(columns, args)).join(' ').split(/\s+/).join(' ');
  for (const { args } of pages) expect(await words(40, args)).toBe(await words(80, args));
});
