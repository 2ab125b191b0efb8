/** What a start and a diff read from a clone; missing-branch-v1.ts too. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { useLoose } from '../../support/use-loose.ts';

const at = useLoose();
const START = 'conv new hello --repo team/demo --git-provider github --json';
let dir: string;
/** The clone below the working directory of the agent: `main` is checked out, and its origin has `next` too. */
let clone: string;

function git(cwd: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
  execFileSync('git', [...identity, ...args], { cwd, stdio: 'pipe' });
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-clone-'));
  const [origin, workspace] = [path.join(dir, 'origin'), path.join(dir, 'workspace')];
  for (const folder of [origin, workspace]) await mkdir(folder);
  git(origin, 'init', '-q');
  git(origin, 'commit', '-q', '--allow-empty', '-m', 'first');
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
    await at.ends(`conv diff ${id}`, { code: 5, out: '', err: 'the repository of the conversation did not arrive' });
  });

  it('makes conv new and conv diff warn where the sandbox cannot run the command that checks for it', async () => {
    at.serve({ lacks: ['POST /agent/api/bash/start_bash_command'] });
    await at.ends(START, { err: 'warning: whether team/demo arrived in the workspace cannot be read' });
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
