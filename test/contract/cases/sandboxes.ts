/** Specs, and sandboxes from start to deletion. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import {
  conversation,
  errorOf,
  expectCode,
  json,
  lines,
  ok,
  show,
  started,
  untilAtWork,
  untilPassedOn,
  untilTitled,
  withSandboxes,
  type ListJson,
  type OutcomeJson,
} from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

interface SandboxJson {
  id: string;
  status: string;
  spec_id: string;
  conversation_ids: string[];
  changed?: boolean;
}

const sandbox = async (target: Target, ...args: string[]): Promise<SandboxJson> =>
  json<SandboxJson>(await ok(target, 'sandbox', ...args, '--json'));
const ids = async (target: Target, ...flags: string[]): Promise<string[]> =>
  json<ListJson<SandboxJson>>(await ok(target, 'sandbox', 'list', '--json', ...flags)).items.map(
    ({ id }) => id,
  );

const CASES: ContractCase[] = [
  {
    name: 'specs: listed with one default',
    async run(target) {
      const { items } = json<ListJson<{ id: string; default: boolean }>>(
        await ok(target, 'specs', 'list', '--json'),
      );
      expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining([...target.specs]));
      expect(items.filter((spec) => spec.default)).toHaveLength(1);
    },
  },
  {
    name: 'sandboxes: started from a spec, paused, resumed, deleted; and no other is touched',
    async run(target) {
      const shared = await target.sandbox();
      const made = await sandbox(target, 'start', '--spec', target.specs[0]);
      expect(made).toMatchObject({ status: 'running', spec_id: target.specs[0], changed: true });
      expect(await ids(target)).toEqual(expect.arrayContaining([shared, made.id]));
      expect(
        json<ListJson<SandboxJson>>(await ok(target, 'sandbox', 'list', '-L', '1', '--json'))
          .has_more,
      ).toBe(true);
      const everyPage = await ids(target, '--all-pages');
      expect(everyPage).toEqual(expect.arrayContaining([shared, made.id]));
      expect(new Set(everyPage).size).toBe(everyPage.length);
      expect(await sandbox(target, 'show', made.id)).toMatchObject({
        id: made.id,
        status: 'running',
      });

      expect(await sandbox(target, 'pause', made.id)).toMatchObject({
        status: 'paused',
        changed: true,
      });
      expect(await sandbox(target, 'pause', made.id)).toMatchObject({
        status: 'paused',
        changed: false,
      });
      expect(await ids(target, '--status', 'paused')).toEqual([made.id]);
      expect(await sandbox(target, 'resume', made.id)).toMatchObject({
        status: 'running',
        changed: true,
      });
      expect(await sandbox(target, 'start', made.id)).toMatchObject({
        status: 'running',
        changed: false,
      });

      expectCode(await target.acs('sandbox', 'delete', made.id), 2, 'without a yes');
      expect((await sandbox(target, 'delete', made.id, '-y')).changed).toBe(true);
      expect(await ids(target)).not.toContain(made.id);
      expect(await ids(target)).toContain(shared);
      expectCode(await target.acs('sandbox', 'show', made.id), 5);
      expectCode(await target.acs('sandbox', 'delete', made.id, '-y'), 5);
      expect(
        (await ok(target, 'sandbox', 'delete', made.id, '-y', '--ignore-not-found')).code,
      ).toBe(0);
    },
  },
  {
    name: 'sandboxes: an unknown id or spec is exit 5, and nothing is made',
    async run(target) {
      const before = await ids(target);
      for (const args of [
        ['show', 'nobody'],
        ['pause', 'nobody'],
        ['resume', 'nobody'],
        ['delete', 'nobody', '-y'],
      ]) {
        expectCode(await target.acs('sandbox', ...args), 5, args.join(' '));
      }
      expectCode(await target.acs('sandbox', 'start', '--spec', 'no-such-spec'), 5);
      expect(await ids(target)).toEqual(before);
    },
  },
  {
    name: 'sandboxes: no session key is shown unless it is asked for',
    async run(target) {
      const id = await target.sandbox();
      const shown = json<Record<string, unknown>>(
        await ok(target, 'sandbox', 'show', id, '--show-secrets', '--json'),
      );
      const key = JSON.stringify(shown).match(/"session_api_key":"([^"]+)"/)?.[1];
      expect(key, 'a session key').toBeDefined();
      const quiet = await ok(target, 'sandbox', 'show', id, '--json', '--debug');
      const list = await ok(target, 'sandbox', 'list', '--json', '--debug');
      expect(quiet.out + quiet.err + list.out + list.err).not.toContain(key);
    },
  },
  {
    name: 'a paused sandbox: its events can be read, and a message needs --resume',
    async run(target) {
      const { id: box } = await sandbox(target, 'start');
      const { id, outcome } = await started(target, 'v1', 'QUICK', '--sandbox', box, '--wait');
      // Events that the sandbox has not delivered when it is paused cannot be read until it is
      // resumed.
      await untilPassedOn(target, id);
      await ok(target, 'sandbox', 'pause', box);
      const { status, sandbox_status, cost_usd } = await show(target, id);
      expect([status, sandbox_status]).toEqual(['finished', 'paused']);
      // The snapshot of the state comes behind the end.
      if (cost_usd !== null) expect(cost_usd).toBeGreaterThanOrEqual(outcome?.cost_usd ?? Infinity);
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
      expect((await ok(target, 'conv', 'events', id, '--json')).out).toContain('QUICK please');
      expectCode(await target.acs('conv', 'wait', id), 0);
      expectCode(await target.acs('conv', 'diff', id), 6);
      expect(
        errorOf(expectCode(await target.acs('conv', 'send', id, 'QUICK again', '--json'), 6)).hint,
      ).toMatch(/--resume/);
      expectCode(await target.acs('conv', 'send', id, 'QUICK again', '--resume', '--wait'), 0);
      await untilPassedOn(target, id, 2);

      await ok(target, 'sandbox', 'pause', box);
      const next = await started(target, 'v1', 'QUICK', '--sandbox', box, '--wait');
      expect(next).toMatchObject({ status: 'finished', sandbox_id: box });

      await ok(target, 'sandbox', 'delete', box, '-y');
      expect(json(await ok(target, 'conv', 'show', id, '--json')).status).toMatch(
        /finished|archived/,
      );
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
      expectCode(
        await target.acs('conv', 'send', id, 'QUICK again'),
        6,
        'a message to an archived conversation',
      );
      expectCode(
        await target.acs('conv', 'send', id, 'QUICK again', '--resume'),
        6,
        'to an archived one with --resume',
      );
    },
  },
  {
    name:
      'a sandbox that is paused during a run: follow reports it, and resume continues the ' +
      'run to its end',
    async run(target) {
      const { id: box } = await sandbox(target, 'start');
      const { id } = await started(target, 'v1', 'SLOW', '--sandbox', box);
      await untilAtWork(target, id);
      const [followed] = await Promise.all([
        target.acs('conv', 'follow', id, '--json'),
        ok(target, 'sandbox', 'pause', box),
      ]);
      expect(lines<OutcomeJson>(expectCode(followed, 6)).at(-1)).toMatchObject({
        type: 'outcome',
        status: 'paused',
      });
      expectCode(await target.acs('conv', 'stop', id), 0, 'what is paused is stopped already');
      await target.releaseCommands();
      expectCode(await target.acs('conv', 'resume', id, '--wait'), 0);
      expect(json(await ok(target, 'conv', 'show', id, '--json')).status).toBe('finished');
      await ok(target, 'sandbox', 'delete', box, '-y');
    },
  },
  {
    name: 'delete: the neighbour in the same sandbox stays, with its sandbox and its run',
    async run(target) {
      const { id: box } = await sandbox(target, 'start');
      const { id: gone } = await started(target, 'v1', 'QUICK', '--sandbox', box, '--wait');
      await untilPassedOn(target, gone);
      await untilTitled(target, gone);
      const { id: neighbour } = await started(target, 'v1', 'SLOW', '--sandbox', box);
      const deleted = await target.acs('conv', 'delete', gone, '-y', '--json');
      if (target.traits.includes('deletes over V0')) {
        expect(
          errorOf(expectCode(deleted, 6)).message,
          'the refusal names the neighbour',
        ).toContain(neighbour);
        expect((await show(target, gone)).status).toBe('finished');
      } else {
        expect(json(expectCode(deleted, 0)).changed).toBe(true);
        expectCode(await target.acs('conv', 'show', gone), 5);
      }
      expect(await sandbox(target, 'show', box)).toMatchObject({ id: box, status: 'running' });
      await target.releaseCommands();
      expectCode(await target.acs('conv', 'wait', neighbour), 0, 'the run of the neighbour');
      expect((await ok(target, 'conv', 'result', neighbour)).out).toBe('All done.');
      await untilPassedOn(target, neighbour);
      await ok(target, 'conv', 'delete', neighbour, '-y', '--with-sandbox');
      expectCode(await target.acs('sandbox', 'show', box), 5, 'the sandbox after --with-sandbox');
    },
  },
  {
    name: 'a conversation in a sandbox that is not there is exit 5, and in V0 exit 12',
    async run(target) {
      expectCode(await conversation(target, 'v1', 'QUICK', '--sandbox', 'nobody'), 5);
      if (target.dialects.includes('v0')) {
        expectCode(
          await conversation(target, 'v0', 'QUICK', '--sandbox', await target.sandbox()),
          12,
        );
      }
    },
  },
];

export const SANDBOXES: ContractCase[] = CASES.map(withSandboxes);

// Copies of files and folders to a sandbox and from it.

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

const COPIES: ContractCase[] = [
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

export const COPYING: ContractCase[] = COPIES.map(withSandboxes);
