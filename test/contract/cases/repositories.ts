/** Conversations on a repository. */
import { mkdtempSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { unquotePath } from '../../../src/domain/patch.ts';
import {
  conversation,
  expectCode,
  inEachDialect,
  json,
  newest,
  ok,
  show,
  started,
  untilPassedOn,
  withSandboxes,
  type ConversationJson,
  type ListJson,
} from '../support.ts';
import {
  filesInIndex,
  filesOf,
  git,
  MATRIX_CHANGES,
  ODD_NAMES,
  NOT_IN_V0,
  shell,
} from '../../support/patch-matrix.ts';
import type { Ended } from '../../support/world.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};

/** In a sandbox of its own: the shared one has the repository at another branch. */
function matrixRun(target: Target, dialect: Dialect): Promise<ConversationJson> {
  const own = dialect === 'v1' ? ['--spec', target.specs[0]] : [];
  return started(
    target,
    dialect,
    'MATRIX',
    ...target.repository.flags,
    '--branch',
    'matrix',
    '--wait',
    ...own,
  );
}

function cloneOf(target: Target, branch = 'matrix'): string {
  const dir = mkdtempSync(path.join(target.dir, 'clone-'));
  git(target.dir, 'clone', '-q', '--branch', branch, target.repository.dir, dir);
  return dir;
}

/** Of lines of `git ls-files --stage`. */
function without(names: readonly string[], files: readonly string[]): string[] {
  return files.filter((line) => !names.includes(unquotePath(line.slice(line.indexOf('\t') + 1))));
}

/** Starts WORK on the checkout; null where the dialect cannot. */
async function withChanges(target: Target, dialect: Dialect, checkout: string) {
  const { url, flags } = target.repository;
  const hasRemote = git(checkout, 'remote') !== '';
  if (hasRemote && url !== undefined) git(checkout, 'remote', 'set-url', 'origin', url);
  const args = ['conv', 'new', ...(await target.begin('WORK')), '--wait', '--json'];
  if (dialect !== 'agent') args.push('--api', dialect);
  if (dialect === 'v1') args.push('--spec', target.specs[0]);
  // Else the git provider of the host is not known.
  if (hasRemote && flags.includes('--git-provider')) args.push(...flags);
  const ended = await target.invoke({ args: [...args, '--with-changes'], cwd: checkout });
  expectCode(ended, dialect === 'v0' ? 12 : 0);
  if (dialect === 'v0') return null;
  const { id } = json(ended);
  const inWorkspace = async (...words: string[]): Promise<string> => {
    const [, worktree] = /worktree of the checkout: ([^"]+)"/.exec(ended.err) ?? [];
    if (worktree !== undefined) return git(worktree, ...words);
    return (await ok(target, 'sandbox', 'exec', id, '--', 'git', ...words)).out.trimEnd();
  };
  return { id, inWorkspace };
}

async function changesOf(target: Target, id: string): Promise<string[]> {
  const ended = await ok(target, 'conv', 'diff', id, '--stat', '--json');
  const { items } = json<ListJson<{ path: string; status: string }>>(ended);
  return items.map((item) => `${item.status} ${item.path}`);
}

export const REPOSITORIES: ContractCase[] = [
  ...inEachDialect(
    'repository: cloned at its branch, and the changes come back as a diff',
    async (target, dialect) => {
      const { id } = await started(
        target,
        dialect,
        'WORK',
        ...target.repository.flags,
        '--branch',
        'next',
        '--wait',
      );
      const shown = await show(target, id);
      expect(shown.branch).toBe('next');
      expect(shown.repository).not.toBeNull();
      const { items } = json<ListJson<{ path: string; status: string }>>(
        await ok(target, 'conv', 'diff', id, '--stat', '--json'),
      );
      expect(items).toMatchObject([{ path: 'hello.txt', status: 'added' }]);
      const { out } = await ok(target, 'conv', 'diff', id);
      expect(out).toContain('+hello from the agent');
      if (dialect === 'v0') return;
      // The id of the conversation means the folder of its repository.
      for (const args of [
        ['exec', id, '--', 'cat', 'hello.txt'],
        ['cp', `${id}:hello.txt`, '-'],
      ])
        expect((await ok(target, 'sandbox', ...args)).out).toContain('hello from the agent');
    },
  ),
  ...inEachDialect(
    'changes: git applies the patch to the base commit, and it has each kind',
    async (target, dialect) => {
      const { id } = await matrixRun(target, dialect);
      const diff = await ok(target, 'conv', 'diff', id);
      const [wanted, patched] = [cloneOf(target), cloneOf(target)];
      shell(wanted, MATRIX_CHANGES);
      const patch = path.join(target.dir, `${id}.patch`);
      await writeFile(patch, diff.bytes);
      // V0 does not return these as they are, and what it cannot return at all is named on stderr.
      const named = [
        ...diff.err.matchAll(/left out: (.+?): (?:the server returned no|binary|not compared)/g),
      ];
      const lacking = dialect === 'v0' ? [...NOT_IN_V0, ...named.map(([, name = '']) => name)] : [];
      git(patched, 'apply', '--check', ...lacking.map((name) => `--exclude=${name}`), patch);
      git(patched, 'apply', '--index', ...lacking.map((name) => `--exclude=${name}`), patch);
      expect(without(lacking, filesInIndex(patched))).toEqual(without(lacking, filesOf(wanted)));
      expect(lacking).not.toContain('modify.txt');
      for (const what of dialect === 'v0'
        ? [
            /modes/,
            /symbolic links/,
            /line break/,
            /binary\.bin/,
            /new\.bin/,
            ...(target.hasModel ? [/folder\/inner/] : []),
          ]
        : []) {
        expect(diff.err).toMatch(what);
      }
    },
  ),
  ...inEachDialect(
    'pull: into a checkout, onto a branch and into a folder',
    async (target, dialect) => {
      const { id } = await started(
        target,
        dialect,
        'WORK',
        ...target.repository.flags,
        '--branch',
        'next',
        '--wait',
      );
      const checkout = cloneOf(target, 'next');
      const pull = async (code: number, ...flags: string[]): Promise<Ended> =>
        expectCode(
          await target.invoke({ args: ['conv', 'pull', id, ...flags], cwd: checkout, env: AUTHOR }),
          code,
          `conv pull ${flags.join(' ')}`,
        );
      await pull(0);
      expect(git(checkout, 'status', '--short')).toBe('?? hello.txt');
      await pull(6);
      await pull(0, '--branch', 'agent/work');
      expect(git(checkout, 'show', 'agent/work:hello.txt')).toBe('hello from the agent');
      expect(git(checkout, 'log', '-1', '--format=%s', 'agent/work')).toBe('All done.');
      const folder = path.join(checkout, 'folder');
      await pull(0, '-o', folder);
      expect(await readdir(folder)).toEqual(['hello.txt']);
    },
  ),
  ...inEachDialect(
    'with-changes: the run begins with the files of the checkout, and only its own are its changes',
    async (target, dialect) => {
      const checkout = cloneOf(target);
      git(checkout, 'commit', '-q', '--allow-empty', '-m', 'not pushed');
      shell(checkout, `${MATRIX_CHANGES} && ${ODD_NAMES} && echo 'not yet' >hello.txt`);
      const read = ['status', '--porcelain', '-z', '-uall', '--ignore-submodules=all'];
      const before = git(checkout, ...read);
      const started = await withChanges(target, dialect, checkout);
      if (started === null) return 'unsupported';
      const { id, inWorkspace } = started;
      expect(await inWorkspace(...read)).toBe(before);
      expect(await inWorkspace('log', '-1', '--format=%s')).toBe('not pushed');
      expect(await changesOf(target, id)).toEqual(['modified hello.txt']);
      expectCode(await target.invoke({ args: ['conv', 'pull', id], cwd: checkout }), 0, 'pull');
      const file = path.join(checkout, 'hello.txt');
      expect(await readFile(file, 'utf8')).toBe('hello from the agent\n');
      expect(git(checkout, ...read)).toBe(before);
    },
  ),
  ...inEachDialect(
    'with-changes: a new branch, a detached HEAD and a checkout without a commit are taken as they are',
    async (target, dialect) => {
      const [branch, detached] = [cloneOf(target), cloneOf(target)];
      const unborn = mkdtempSync(path.join(target.dir, 'unborn-'));
      git(branch, 'switch', '-q', '-c', 'only-here');
      git(detached, 'checkout', '-q', '--detach', 'origin/main');
      git(unborn, 'init', '-q', '-b', 'trunk');
      for (const checkout of [branch, detached, unborn]) {
        shell(checkout, 'echo mine >mine.txt');
        const started = await withChanges(target, dialect, checkout);
        if (started === null) return 'unsupported';
        const { id, inWorkspace } = started;
        expect(await changesOf(target, id)).toEqual(['added hello.txt']);
        if (dialect === 'agent') continue;
        const head = git(checkout, 'branch', '--show-current');
        expect(await inWorkspace('branch', '--show-current')).toBe(head);
        expect(await inWorkspace('status', '--porcelain')).toContain('?? mine.txt');
      }
    },
  ),
  ...inEachDialect(
    'repository: an unknown branch is exit 5, though a server calls it started',
    async (target, dialect) => {
      const flags = [...target.repository.flags, '--branch', 'nowhere', '--wait', '--json'];
      // Its folder stays in the sandbox, and a server does not clone into a folder that is there.
      if (dialect === 'v1') flags.push('--spec', target.specs[0]);
      expectCode(await conversation(target, dialect, 'WORK', ...flags), 5);
    },
  ),
  ...inEachDialect(
    'repository: an unknown one is an error with the reason',
    async (target, dialect) => {
      const ended = await conversation(
        target,
        dialect,
        'WORK',
        ...target.repository.unknown,
        '--wait',
        '--json',
      );
      expect([1, 2, 4, 5], ended.err).toContain(ended.code);
      expect(ended.err).toMatch(/nowhere|git provider/i);
    },
  ),
  {
    name: 'repository: credentials of the git host are shown nowhere',
    async run(target) {
      const flags = [...target.repository.flags, '--branch', 'next', '--wait', '--debug', '--json'];
      const ended = expectCode(await conversation(target, newest(target), 'WORK', ...flags), 0);
      const { id } = json(ended);
      const rest = [
        await ok(target, 'conv', 'events', id, '--json'),
        await ok(target, 'conv', 'diff', id, '--debug'),
      ];
      expect([ended, ...rest].map(({ out, err }) => out + err).join('')).not.toContain(
        'token-of-the-git-host',
      );
    },
  },
];

// Exports of conversations, while their sandbox runs and afterwards.

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not included';

const exported = async (
  target: Target,
  id: string,
  form: 'md' | 'html',
  ...flags: string[]
): Promise<string> => (await ok(target, 'conv', 'export', id, '--as', form, ...flags)).out;
const steps = (page: string): number => page.match(/<li class=/g)?.length ?? 0;

export const EXPORTING: ContractCase[] = [
  ...inEachDialect(
    'export: the steps, and the diff of a workspace that can be read',
    async (target, dialect) => {
      const { id } = await started(
        target,
        dialect,
        'WORK',
        ...target.repository.flags,
        '--branch',
        'next',
        '--wait',
      );
      const page = await exported(target, id, 'html');
      expect(steps(page)).toBeGreaterThan(2);
      expect(page).toContain('All done.');
      for (const text of [page, await exported(target, id, 'md')]) {
        expect(text).toContain('+hello from the agent');
        expect(text).not.toContain(RECONSTRUCTED);
      }
    },
  ),
  withSandboxes({
    name:
      'export: every step of a paused sandbox, which stays paused, and its diff, or what is ' +
      'missing',
    async run(target) {
      const { id, sandbox_id } = await started(
        target,
        'v1',
        'WORK',
        '--spec',
        target.specs[0],
        '--wait',
      );
      const before = steps(await exported(target, id, 'html'));
      await untilPassedOn(target, id);
      await ok(target, 'sandbox', 'pause', sandbox_id ?? '');
      const page = await exported(target, id, 'html');
      expect(steps(page)).toBeGreaterThanOrEqual(before);
      const { features } = json<{ features: string[] }>(await ok(target, 'whoami', '--json'));
      if (features.includes('stored-changes')) expect(page).not.toContain(RECONSTRUCTED);
      else expect(page).toMatch(new RegExp(`${RECONSTRUCTED}[^]*the sandbox is paused`));
      expect((await show(target, id)).sandbox_status).toBe('paused');
    },
  }),
];
