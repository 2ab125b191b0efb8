/** Copies of files and folders to a sandbox and from it. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { errorOf, expectCode, json, ok, withSandboxes } from '../support.ts';
import type { ContractCase } from '../target.ts';

interface CopiedJson {
  from: string;
  to: string;
  files: number;
  bytes: number;
  changed: boolean;
}

const NAMES = ['plain', 'with space', `quote'"\\`, 'new\nline', 'ümläut 名', '*'];
/** Every byte, and more of them than one part of a copy. */
const BYTES = Buffer.from(Uint8Array.from({ length: 300_001 }, (_, index) => (index * 31) % 256));

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-cp-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const isExecutable = async (file: string): Promise<boolean> =>
  ((await stat(file)).mode & 0o111) !== 0;

const CASES: ContractCase[] = [
  {
    name: 'cp: a file both ways, with its bytes, its mode and any name',
    async run(target) {
      const id = await target.sandbox();
      await inFolder(async (here) => {
        for (const name of NAMES) {
          const file = path.join(here, name);
          await writeFile(file, BYTES, { mode: 0o755 });
          const up = json<CopiedJson>(await ok(target, 'sandbox', 'cp', file, `${id}:`, '--json'));
          expect(up).toMatchObject({ from: file, files: 1, bytes: BYTES.length, changed: true });
          const back = path.join(here, 'back');
          if (name.includes('\n') && target.name === '1.4.0') {
            // Its agent server has the path form of the routes alone.
            expectCode(await target.acs('sandbox', 'cp', up.to, back), 12);
            continue;
          }
          const down = json<CopiedJson>(await ok(target, 'sandbox', 'cp', up.to, back, '--json'));
          expect(down).toMatchObject({ from: up.to, to: back, files: 1, bytes: BYTES.length });
          expect((await readFile(back)).equals(BYTES), name).toBe(true);
          expect(await isExecutable(back), name).toBe(true);
          await rm(back);
        }
        expect((await ok(target, 'sandbox', 'cp', `${id}:plain`, '-')).bytes.equals(BYTES)).toBe(
          true,
        );
      });
    },
  },
  {
    name:
      'cp: a folder both ways, with empty folders, modes and links, and merged into one ' +
      'that is there',
    async run(target) {
      const id = await target.sandbox();
      await inFolder(async (here) => {
        const source = path.join(here, 'source');
        await mkdir(path.join(source, 'deep/empty'), { recursive: true });
        for (const name of NAMES) await writeFile(path.join(source, 'deep', name), name);
        await writeFile(path.join(source, 'tool'), BYTES, { mode: 0o755 });
        await symlink('../tool', path.join(source, 'deep/link'));
        const up = json<CopiedJson>(await ok(target, 'sandbox', 'cp', source, `${id}:`, '--json'));
        expect(up.files).toBe(NAMES.length + 2);
        const back = path.join(here, 'back');
        await ok(target, 'sandbox', 'cp', up.to, back);
        for (const folder of ['.', 'deep', 'deep/empty']) {
          const names = async (root: string) => (await readdir(path.join(root, folder))).sort();
          expect(await names(back), folder).toEqual(await names(source));
        }
        expect((await readFile(path.join(back, 'deep/link'))).equals(BYTES)).toBe(true);
        expect([
          await isExecutable(path.join(back, 'tool')),
          await isExecutable(path.join(back, 'deep/plain')),
        ]).toEqual([true, false]);
        await mkdir(path.join(here, 'more/source'), { recursive: true });
        await writeFile(path.join(here, 'more/source/added'), 'added');
        await ok(target, 'sandbox', 'cp', path.join(here, 'more/source'), `${id}:`);
        await ok(target, 'sandbox', 'cp', `${id}:source/.`, back);
        expect((await readdir(back)).sort()).toEqual(['added', 'deep', 'tool']);
        expect((await ok(target, 'sandbox', 'cp', `${id}:source/deep/plain`, '-')).out).toBe(
          'plain',
        );
      });
    },
  },
  {
    name:
      'cp: what is not there is exit 5, a file in place of a folder exit 6, a paused ' +
      'sandbox needs --resume',
    async run(target) {
      const { id } = json<{ id: string }>(await ok(target, 'sandbox', 'start', '--json'));
      await inFolder(async (here) => {
        const file = path.join(here, 'file');
        await writeFile(file, 'x');
        expectCode(await target.acs('sandbox', 'cp', `${id}:no-such`, here), 5);
        expectCode(await target.acs('sandbox', 'cp', file, `${id}:no/such/file`), 5);
        await mkdir(path.join(here, 'folder'));
        await ok(target, 'sandbox', 'cp', file, `${id}:taken`);
        expectCode(await target.acs('sandbox', 'cp', path.join(here, 'folder'), `${id}:taken`), 6);
        expect((await ok(target, 'sandbox', 'cp', `${id}:taken`, '-')).out).toBe('x');
        await ok(target, 'sandbox', 'pause', id);
        expect(
          errorOf(expectCode(await target.acs('sandbox', 'cp', file, `${id}:late`, '--json'), 6))
            .hint,
        ).toMatch(/--resume/);
        expectCode(await target.acs('sandbox', 'cp', file, `${id}:late`, '--resume'), 0);
        expect((await ok(target, 'sandbox', 'cp', `${id}:late`, '-')).out).toBe('x');
      });
      await ok(target, 'sandbox', 'delete', id, '-y');
    },
  },
];

export const COPYING: ContractCase[] = CASES.map(withSandboxes);
