/** What a start and a diff read from a clone; missing-branch-v1.ts too. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { useLoose } from '../../support/use-scripted.ts';

const at = useLoose();
const START = 'conv new hello --repo team/demo --git-provider github --json';
let dir: string;
/**
 * The clone below the working directory of the agent: `main` is checked out, and its origin has
 * `next` too.
 */
let clone: string;

function git(cwd: string, ...args: string[]): void {
  const identity = [
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@example.com',
    '-c',
    'init.defaultBranch=main',
  ];
  execFileSync('git', [...identity, ...args], { cwd, stdio: 'pipe' });
}

function shell(command: string): void {
  execFileSync('/bin/sh', ['-c', command], { cwd: clone, stdio: 'pipe' });
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-clone-'));
  const [origin, workspace] = [path.join(dir, 'origin'), path.join(dir, 'workspace')];
  for (const folder of [origin, workspace]) await mkdir(folder);
  git(origin, 'init', '-q');
  for (const name of ['LICENSE', 'README.md']) await writeFile(path.join(origin, name), 'hello\n');
  git(origin, 'add', '-A');
  git(origin, 'commit', '-q', '-m', 'first');
  git(origin, 'branch', 'next');
  git(workspace, 'clone', '-q', origin, 'demo');
  clone = path.join(workspace, 'demo');
  at.serve({ workspace });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('a repository that is cloned below the working directory', () => {
  it('is found there, and conv diff shows the changes in it', async () => {
    await at.ends(START, {});
    await writeFile(path.join(clone, 'work.md'), 'the work\n');
    const [id] = at.loose.conversations.keys();
    await at.ends(`conv diff ${id}`, { out: /b\/work\.md[^]*\+the work/ });
    await rm(clone, { recursive: true });
    await at.ends(`conv diff ${id}`, {
      code: 5,
      out: '',
      err: 'the repository of the conversation did not arrive',
    });
  });

  it.each([
    ['removed', 'rm -rf .git'],
    ['removed before the files were changed', 'rm -rf .git; echo more >> README.md'],
    [
      'made anew',
      'rm -rf .git; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm all',
    ],
    ['made anew without a commit', 'rm -rf .git; git init -q'],
    ['made a file', 'rm -rf .git; touch .git'],
  ])(
    'that is there without its .git, which was %s, is no clone that failed',
    async (_, command) => {
      at.script(({ method, path: asked }) => {
        // The agent acts at once.
        if (method === 'POST' && asked.endsWith('/start_bash_command')) shell(command);
        return null;
      });
      await at.ends(START, { hides: /warning|error/ });
      const [id] = at.loose.conversations.keys();
      await at.ends(`conv diff ${id}`, {
        code: 6,
        out: '',
        err: 'what the run changed cannot be determined: the agent has',
      });
    },
  );

  it('that has only files of the agent is a clone that failed', async () => {
    await rm(clone, { recursive: true });
    at.script(({ method, path: asked }) => {
      if (method === 'POST' && asked.endsWith('/start_bash_command'))
        execFileSync('mkdir', ['-p', path.join(clone, 'src')]);
      return null;
    });
    await at.ends(START, { code: 5, err: 'the repository team/demo did not arrive' });
  });

  it('whose history was deleted has no known base, and one that was empty has none', async () => {
    await at.ends(START, {});
    const [id] = at.loose.conversations.keys();
    await writeFile(path.join(clone, 'work.md'), 'the work\n');
    await rm(path.join(clone, '.git', 'logs'), { recursive: true });
    await at.ends(`conv diff ${id}`, { code: 6, err: 'keeps no copy of its commit' });
    const empty = path.join(dir, 'empty');
    await rm(clone, { recursive: true });
    git(dir, 'init', '-q', empty);
    git(dir, 'clone', '-q', empty, clone);
    await writeFile(path.join(clone, 'first.md'), 'first\n');
    await at.ends(`conv diff ${id} --name-only`, { out: 'first.md\n' });
    git(clone, 'add', '-A');
    git(clone, 'commit', '-q', '-m', 'all');
    await at.ends(`conv diff ${id} --name-only`, { out: 'first.md\n' });
  });

  it('makes conv new and conv diff warn where the sandbox cannot run the command that checks for it', async () => {
    at.serve({ lacks: ['POST /agent/api/bash/start_bash_command'] });
    await at.ends(START, {
      err: 'warning: whether team/demo arrived in the workspace cannot be read',
    });
    at.script({ '/agent/api/git/changes': { json: [] } });
    const [id] = at.loose.conversations.keys();
    await at.ends(`conv diff ${id}`, {
      out: '',
      err: 'of team/demo: this server does not return whether it was cloned',
    });
  });

  it.each<[number, string, string, () => unknown]>([
    [5, '', 'did not arrive', () => rm(clone, { recursive: true })],
    [5, "--branch no'where", "the branch no'where of team/demo did not arrive", () => null],
    [9, '--branch next', 'ignored --branch next and started the conversation on main', () => null],
    [0, '--branch next', '', () => git(clone, 'checkout', '-q', 'next')],
  ])('makes conv new exit %i %s: %s', async (code, flags, message, change) => {
    await change();
    await at.ends(`${START} ${flags}`, { code, err: new RegExp(message) });
  });
});
