/**
 * A file of the command line that cannot be read: which one, why, and what to do, wherever it is
 * named.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, it } from 'vitest';
import { useV1 } from '../support/use-scripted.ts';

const at = useV1();
beforeAll(() => mkdir(path.join(at.dir, 'folder')));

const START = ['conv', 'new', 'hello', '--no-repo'];
const USES: [string, (file: string) => string[]][] = [
  ['conv new --file', (file) => ['conv', 'new', '--no-repo', '--file', file]],
  ['conv new --image', (file) => [...START, '--image', file]],
  ['conv new --instructions', (file) => [...START, '--instructions', file]],
  ['conv new --mcp-config', (file) => [...START, '--mcp-config', file]],
  ['conv new --body', (file) => [...START, '--body', file]],
  ['conv new --replay', (file) => ['conv', 'new', '--no-repo', '--replay', file]],
  ['secret set', (file) => ['secret', 'set', 'NAME', `@${file}`]],
];

it.each(USES)('%s names the file, the reason and the next step', async (_, args) => {
  const next = `  check the path; full path: ${path.join(at.dir, 'missing')}\n`;
  await at.ends(args('missing'), {
    code: 3,
    err: ['cannot read missing: it does not exist\n', next],
  });
  const err = 'cannot read folder: it is a folder\n  give the path of a file; full path: ';
  await at.ends(args('folder'), { code: 3, err });
});
