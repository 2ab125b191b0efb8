/** What a deletion leaves on the machine of a backend, and programs and files there. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git } from '../../support/patch-matrix.ts';
import {
  BACKEND_DASHED_ID,
  BACKEND_ID as ID,
  BRANCH,
  useBackendWorktree,
} from '../support/backend-server.ts';

const at = useBackendWorktree();
const DELETION = `DELETE /api/conversations/${BACKEND_DASHED_ID}`;
const remove = `conv delete ${ID} -y --with-worktree`;

const branches = () =>
  git(at.checkout, 'branch', '--format=%(refname:short)')
    .split('\n')
    .filter((name) => name !== '');
const isRemoved = () =>
  expect([existsSync(path.dirname(at.worktree)), at.machine.record]).toEqual([false, null]);
const isKept = () =>
  expect([existsSync(at.worktree), branches(), at.machine.record !== null]).toEqual([
    true,
    ['main', BRANCH],
    true,
  ]);

describe('conv delete of a backend', () => {
  it('names the worktree and branch that stay, and the command that removes them', async () => {
    await at.ends(`conv delete ${ID} -y`, {
      writes: [DELETION],
      err:
        `its worktree ${at.worktree} and branch ${BRANCH} stay; remove them on its machine: ` +
        `git -C ${at.checkout} worktree remove ${at.worktree} && ` +
        `git -C ${at.checkout} branch -d ${BRANCH}`,
    });
    const command = `git -C ${at.checkout} worktree remove ${at.worktree}`;
    at.shell(at.dir, `${command} && git -C ${at.checkout} branch -d ${BRANCH}`);
    expect(branches()).toEqual(['main']);
  });

  it('names nothing for a folder that the user has named', async () => {
    at.runsIn(at.checkout);
    const { err } = await at.ends(`conv delete ${ID} -y`, { writes: [DELETION] });
    expect(err).not.toContain('stay');
  });
});

describe('conv delete --with-worktree', () => {
  it('removes the worktree and its branch before the record', async () => {
    const { err } = await at.ends(remove, {
      writes: ['POST /api/bash/execute_bash_command', DELETION],
    });
    isRemoved();
    expect([branches(), err]).toEqual([['main'], expect.not.stringContaining('stay')]);
  });

  it('exits 6 for changes that are not committed, names them, and removes nothing', async () => {
    at.write('new.txt', 'new\n');
    at.write('a.txt', 'two\n');
    await at.ends(remove, {
      code: 6,
      err: [`${at.worktree} of conversation ${ID} has uncommitted changes (a.txt new.txt)`],
      writes: ['POST /api/bash/execute_bash_command'],
    });
    isKept();
  });

  it('exits 6 for commits of its branch alone, and works when another branch has them', async () => {
    at.write('new.txt', 'new\n');
    at.commit(at.worktree, 'new');
    await at.ends(remove, { code: 6, err: '1 commit that no other branch has' });
    isKept();
    git(at.checkout, 'merge', '-q', BRANCH);
    await at.ends(remove, {});
    isRemoved();
  });

  it('exits 6 for commits that are on no branch', async () => {
    git(at.worktree, 'checkout', '-q', '--detach');
    at.write('new.txt', 'new\n');
    at.commit(at.worktree, 'new');
    await at.ends(remove, { code: 6, err: '1 commit that no other branch has' });
    isKept();
  });

  it('keeps a branch that the agent has made, and its commits', async () => {
    git(at.worktree, 'checkout', '-q', '-b', 'feature');
    at.write('new.txt', 'new\n');
    at.commit(at.worktree, 'new');
    await at.ends(remove, {});
    isRemoved();
    expect(branches()).toEqual(['feature', 'main']);
  });

  it('--force removes what is not merged', async () => {
    at.write('new.txt', 'new\n');
    at.commit(at.worktree, 'new');
    at.write('a.txt', 'two\n');
    await at.ends(`${remove} --force`, {});
    isRemoved();
    expect(branches()).toEqual(['main']);
  });

  it('removes the branch of a worktree that is gone, as after a deletion that has failed', async () => {
    at.script({ [DELETION]: { status: 500, json: {} } });
    await at.ends(remove, { code: 9 });
    expect([existsSync(at.worktree), branches()]).toEqual([false, ['main']]);
    git(at.checkout, 'branch', BRANCH);
    at.server.handler = (asked) => at.machine.handler(asked);
    await at.ends(remove, {});
    expect(branches()).toEqual(['main']);
  });

  it('never removes the checkout of the user, nor a worktree that it was not made for', async () => {
    const own = path.join(at.machine.home, 'own-worktree');
    git(at.checkout, 'worktree', 'add', '-q', own);
    for (const folder of [at.checkout, own]) {
      const { record } = at.machine;
      at.runsIn(folder);
      await at.ends(remove, { writes: [DELETION], err: `the folder ${folder} stays` });
      expect(existsSync(path.join(folder, 'a.txt'))).toBe(true);
      at.machine.record = record;
      at.server.asked.length = 0;
    }
  });

  it('exits 6 while a run is in progress', async () => {
    Object.assign(at.machine.record ?? {}, { execution_status: 'running' });
    await at.ends(remove, { code: 6, err: 'is running: its run uses the worktree', writes: [] });
    isKept();
  });

  it('names the answer that a run waits for, because a stop would not end it', async () => {
    Object.assign(at.machine.record ?? {}, { execution_status: 'waiting_for_confirmation' });
    const err = `answer it first: acs conv confirm ${ID} --reject`;
    await at.ends(remove, { code: 6, err, writes: [] });
    isKept();
  });

  it('removes nothing in a dry run', async () => {
    await at.ends(`${remove} --dry-run`, { writes: [] });
    isKept();
  });
});

describe('conv delete --with-worktree of a clone', () => {
  let clone: string;
  beforeEach(() => {
    const folder = path.join(at.machine.home, '.openhands/workspaces', BACKEND_DASHED_ID);
    clone = path.join(folder, 'app');
    git(at.dir, 'clone', '-q', at.checkout, clone);
    at.runsIn(clone, { acsbase: at.base });
  });

  it('removes it when it has nothing that its remote lacks', async () => {
    await at.ends(remove, {});
    expect([existsSync(path.dirname(clone)), at.machine.record]).toEqual([false, null]);
  });

  it('exits 6 for commits, also stashed ones, that were not pushed', async () => {
    writeFileSync(path.join(clone, 'a.txt'), 'two\n');
    git(clone, 'stash', '-q');
    await at.ends(remove, { code: 6, err: '2 commits' });
    expect(existsSync(clone)).toBe(true);
    await at.ends(`${remove} --force`, {});
    expect(existsSync(clone)).toBe(false);
  });

  it('exits 6 for the files of a folder without a repository', async () => {
    rmSync(path.join(clone, '.git'), { recursive: true });
    await at.ends(remove, { code: 6, err: 'uncommitted changes (.gitignore a.txt)' });
    expect(existsSync(clone)).toBe(true);
  });

  it('is named with the command that removes it where it stays', async () => {
    await at.ends(`conv delete ${ID} -y`, {
      err: `its folder ${clone} stays; remove it on its machine: rm -rf ${path.dirname(clone)}\n`,
    });
  });
});

describe('sandbox exec and cp with a conversation of a backend', () => {
  it('run a program in its folder, with its output and exit code', async () => {
    await at.ends(['sandbox', 'exec', ID, '--', 'sh', '-c', 'pwd; exit 3'], {
      code: 3,
      out: `${at.worktree}\n`,
    });
    mkdirSync(path.join(at.worktree, 'src'));
    await at.ends(`sandbox exec ${ID} --cwd src -- pwd`, { out: `${at.worktree}/src\n` });
  });

  it('find it by the beginning of its id', async () => {
    at.script({
      'GET /api/conversations/search': () => ({
        json: { items: [at.machine.record], next_page_id: null },
      }),
    });
    await at.ends(`sandbox exec ${ID.slice(0, 8)} -- pwd`, { out: `${at.worktree}\n` });
  });

  it('run nothing where the folder is gone', async () => {
    rmSync(at.worktree, { recursive: true });
    await at.ends(`sandbox exec ${ID} -- touch made`, {
      code: 125,
      err: `there is no directory ${at.worktree}`,
    });
    expect(existsSync(path.join(at.machine.home, 'made'))).toBe(false);
    await at.ends(`sandbox cp ${ID}:a.txt copy`, { code: 5, err: `${at.worktree}/a.txt` });
  });

  it('copy files from its folder', async () => {
    await at.ends(`sandbox cp ${ID}:a.txt -`, { out: 'one\n' });
    await at.ends(`sandbox cp ${ID}:. ${at.machine.home}/copy --json`, { out: { files: 2 } });
    expect(readFileSync(path.join(at.machine.home, 'copy/a.txt'), 'utf8')).toBe('one\n');
  });

  it('refuse stdin, and what only sandboxes have is exit 12', async () => {
    await at.ends(`sandbox exec -i ${ID} -- cat`, { code: 125, err: 'cannot pass stdin' });
    for (const verb of ['list', `pause ${ID}`, `resume ${ID}`])
      await at.ends(`sandbox ${verb}`, { code: 12, err: 'this server has no sandboxes' });
  });
});
