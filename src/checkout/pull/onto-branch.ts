/** A patch as a commit on a new branch; neither the index nor the files of the checkout change. */
import { AppError } from '../../errors.ts';
import { git, type GitOptions } from '../git.ts';
import { applyPatch, listed, summary, type Retrieved } from './apply.ts';
import { repositoryOf, staged, stageFolder, type Asking, type Retrieval, type Stage } from './stage.ts';

export async function checkBranch(root: string, branch: string, asking: Asking): Promise<void> {
  const here: GitOptions = { ...asking, cwd: root };
  if ((await git(['check-ref-format', '--branch', branch], here)).code !== 0) {
    throw new AppError('usage', `--branch: git does not accept the name "${branch}"`);
  }
  const known = await git(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], here);
  if (known.code === 0) {
    throw new AppError('conflict', `the branch ${branch} exists`, { hint: 'give another name; nothing was changed' });
  }
}

export interface OntoBranch extends Retrieval {
  root: string;
  /** Short name of the branch; `checkBranch` has checked it. */
  branch: string;
  /** The commit to start from, where the checkout has it; else HEAD. */
  base: string | null;
  message: string;
  threeWay: boolean;
}

export async function ontoBranch(asked: OntoBranch, asking: Asking): Promise<Retrieved & { commit: string | null }> {
  const { root, branch, patch, message, threeWay } = asked;
  const repository = await repositoryOf(root, asking);
  const base = asked.base !== null && (await hasCommit(root, asked.base, asking)) ? asked.base : repository.head;
  return await staged(stageFolder(repository.gitDir, asking), repository.gitDir, asking, async (stage) => {
    if (base !== null) await stage.must(['read-tree', base]);
    const onto = base === null ? 'an empty branch' : `commit ${base.slice(0, 12)}`;
    const { changes, conflicts } = await applyPatch(stage, patch, {
      base: base ?? repository.emptyTree,
      onto,
      threeWay,
      cached: true,
    });
    if (conflicts.length > 0) {
      throw new AppError('conflict', `the changes conflict with ${onto} in ${listed(conflicts)}`, {
        hint: 'nothing was changed; merge them into the checkout instead: leave out --branch',
        data: { conflicts },
      });
    }
    const result = { ...summary(changes, []), submodules: [], commit: null };
    if (asked.dryRun || changes.length === 0) return result;
    const tree = (await stage.must(['write-tree'])).trim();
    const parents = base === null ? [] : ['-p', base];
    const commit = await commitTree(stage, [tree, ...parents], message);
    const args = ['update-ref', '-m', 'acs conv pull', `refs/heads/${branch}`, commit, '0'.repeat(commit.length)];
    if ((await stage.git(args)).code !== 0) {
      throw new AppError('conflict', `the branch ${branch} was made by another process`, {
        hint: 'give another name; nothing was changed',
      });
    }
    return { ...result, commit };
  });
}

async function commitTree(stage: Stage, args: readonly string[], message: string): Promise<string> {
  const { code, stdout, stderr } = await stage.git(['commit-tree', ...args, '-F', '-'], message);
  if (code === 0) return stdout.trim();
  if (/tell me who you are|no email was given|empty ident/i.test(stderr)) {
    throw new AppError('config', 'git does not know the author of the commit', {
      hint: 'git config user.name "<name>" && git config user.email <address>; nothing was changed',
    });
  }
  throw new AppError('config', `git commit-tree failed: ${stderr}`, { hint: 'nothing was changed' });
}

async function hasCommit(root: string, commit: string, asking: Asking): Promise<boolean> {
  return (await git(['cat-file', '-e', `${commit}^{commit}`], { ...asking, cwd: root })).code === 0;
}
