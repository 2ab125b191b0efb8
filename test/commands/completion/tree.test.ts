import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { completionFiles, realTree, referencePages } from '../../../scripts/generate.ts';
import { completionTree, flatten } from '../../../src/commands/completion/tree.ts';
import { PACKAGE_ROOT } from '../../support/world.ts';
import { useScripts } from './shells.ts';

useScripts();

describe('the generated files', () => {
  it('are up to date: npm run generate writes them', async () => {
    const pages = await referencePages();
    for (const [file, text] of Object.entries({ ...(await completionFiles()), ...pages })) {
      expect(readFileSync(path.join(PACKAGE_ROOT, file), 'utf8') === text, file).toBe(true);
    }
    expect(pages['docs/commands.md']).toContain('`acs conv list`');
    expect(pages['docs/exit-codes.md']).toContain('- `124 timeout`');
  });

  it('contain every command, alias and flag', async () => {
    const all = flatten(completionTree(await realTree()));
    const flags = all.flatMap((command) => command.flags.flatMap((flag) => flag.names));
    expect(all.length).toBeGreaterThan(30);
    for (const [file, text] of Object.entries(await completionFiles())) {
      const missing = [...all.flatMap(({ names }) => names), ...flags].filter(
        (word) => !text.includes(word.replace(/^-+/, '')),
      );
      expect({ file, missing }).toEqual({ file, missing: [] });
    }
  });
});
