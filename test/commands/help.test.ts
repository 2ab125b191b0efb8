import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { realTree } from '../../scripts/generate.ts';
import { completionTree, flatten } from '../../src/commands/completion/tree.ts';
import { invoke } from '../support/world.ts';

const nodes = flatten(completionTree(await realTree()));
/** Of conv there is one file for each verb, in `conv/help`. */
const commands = nodes.map(({ path }) => path).filter((path) => !path.startsWith('acs conv'));
const nouns = [...new Set(commands.map((path) => path.split(' ')[1] ?? 'acs'))];

/** What users read, in `help/<noun>.txt`; a change of it shows in review, and `vitest run … --update` takes it over. */
describe('the help of', () => {
  it.each(nouns)('%s', async (noun) => {
    let text = '';
    for (const path of commands.filter((each) => (each.split(' ')[1] ?? 'acs') === noun)) {
      const { code, out, err } = await invoke({ args: [...path.split(' ').slice(1), '--help'], cwd: '/' });
      expect({ path, code, err }).toEqual({ path, code: 0, err: '' });
      text += `== ${path}\n${out}`;
    }
    await expect(text).toMatchFileSnapshot(`help/${noun}.txt`);
  });

  it('each verb of conv is in a file of its own', () => {
    const files = readdirSync(new URL('conv/help/', import.meta.url));
    const verbs = nodes.map(({ path }) => /^acs conv (\S+)$/.exec(path)?.[1]).filter((verb) => verb !== undefined);
    expect(files.sort()).toEqual([...verbs, 'conv'].map((verb) => `${verb}.txt`).sort());
  });
});
