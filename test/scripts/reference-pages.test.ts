import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { referencePages } from '../../scripts/generate.ts';
import { PACKAGE_ROOT } from '../support/world.ts';

it('the pages of commands and topics in docs/ are up to date: npm run generate writes them', async () => {
  const pages = await referencePages();
  for (const [file, text] of Object.entries(pages))
    expect(readFileSync(path.join(PACKAGE_ROOT, file), 'utf8') === text, file).toBe(true);
  expect(pages['docs/commands.md']).toContain('`acs conv list`');
  expect(pages['docs/exit-codes.md']).toContain('- `124 timeout`');
});
