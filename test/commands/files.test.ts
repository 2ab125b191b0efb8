/** A file of the command line that cannot be read: which one, why, and what to do, wherever it is named. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fileProblem } from '../../src/text/file-problem.ts';
import { createV1World, KEY, type V1World } from '../servers/support/v1-world.ts';
import { invoke } from '../support/world.ts';

let dir: string;
let server: V1World;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-unreadable-'));
  await mkdir(path.join(dir, 'folder'));
  server = await createV1World();
});
afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

const START = ['conv', 'new', 'hello', '--no-repo'];
const USES: [string, (file: string) => string[]][] = [
  ['conv new --file', (file) => ['conv', 'new', '--no-repo', '--file', file]],
  ['conv new --image', (file) => [...START, '--image', file]],
  ['conv new --instructions', (file) => [...START, '--instructions', file]],
  ['conv new --mcp-config', (file) => [...START, '--mcp-config', file]],
  ['conv new --members', (file) => [...START, '--members', file]],
  ['conv new --replay', (file) => ['conv', 'new', '--no-repo', '--replay', file]],
  ['secret set', (file) => ['secret', 'set', 'NAME', `@${file}`]],
];

it.each(USES)('%s names the file, the reason and the next step', async (_, args) => {
  const env = {
    HOME: dir,
    PATH: process.env.PATH,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: server.fake.url,
    ACS_API_KEY: KEY,
  };
  const missing = await invoke({ args: args('missing'), cwd: dir, env });
  expect(missing.code, missing.err).toBe(3);
  expect(missing.err).toContain('cannot read missing: it does not exist\n');
  expect(missing.err).toContain(`  check the path; full path: ${path.join(dir, 'missing')}\n`);
  const folder = await invoke({ args: args('folder'), cwd: dir, env });
  expect(folder.code, folder.err).toBe(3);
  expect(folder.err).toContain('cannot read folder: it is a folder\n  give the path of a file; full path: ');
});

it.each([
  ['EACCES', 'permission denied'],
  ['EIO', 'EIO'],
])('the reason for %s is "%s", with a next step', (code, reason) => {
  const problem = fileProblem(Object.assign(new Error('refused'), { code }));
  expect(problem.reason).toBe(reason);
  expect(problem.hint).not.toBe('');
});
