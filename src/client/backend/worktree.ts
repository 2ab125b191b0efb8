/** The worktree or clone that was made for a conversation, and stays when its record is deleted. */
import { AppError } from '../../base/errors.ts';
import { GIT_IN_SHELL } from '../../base/git-config.ts';
import { shellWord } from '../../base/text/shell-quote.ts';
import { dashedId } from '../../domain/ids.ts';
import { shortened } from '../../base/text/well-formed.ts';
import type { Links } from '../shared/links.ts';
import { runShortCommand } from '../agent-server/shell-command.ts';
import { routesOf, shellVariables, type ConversationFolder } from './folder.ts';

const LOST = 46;
const KEPT = 47;

/** What stays, and the command that removes it; null for a folder that the user has named. */
export function leftover({ own, checkout, branch }: ConversationFolder): string | null {
  if (own === null) return null;
  if (checkout === null) {
    const remove = `rm -rf ${shellWord(own.slice(0, own.lastIndexOf('/')))}`;
    return `its folder ${own} stays; remove it on its machine: ${remove}`;
  }
  const git = `git -C ${shellWord(checkout)}`;
  const remove = `${git} worktree remove ${shellWord(own)} && ${git} branch -d ${branch}`;
  return `its worktree ${own} and branch ${branch} stay; remove them on its machine: ${remove}`;
}

/** Throws `conflict` for changes and commits that would be lost. Nothing to remove is no error. */
export async function removeWorktree(
  links: Links,
  place: ConversationFolder,
  unmerged: 'refuse' | 'remove',
): Promise<void> {
  const { id, own, branch, checkout, base, folder } = place;
  const variables = { id: dashedId(id), own: own ?? '', branch, checkout, base, unmerged };
  const script = [GIT_IN_SHELL, shellVariables(variables), REMOVE].join('\n');
  const { exitCode, stdout, stderr } =
    own === null
      ? { exitCode: KEPT, stdout: '', stderr: '' }
      : await runShortCommand(routesOf(links, id), {
          command: script,
          safe: 'once',
          timeoutSeconds: 120,
        });
  if (exitCode === 0) return;
  if (exitCode === KEPT)
    return links.notice(`the folder ${folder} stays: it was not made for conversation ${id}`);
  const reason = shortened(stderr.trim(), 500);
  if (exitCode !== LOST)
    throw new AppError('server', `the worktree ${own} was not removed: ${reason}`);
  const [commits = '0', changes = '0', names = ''] = stdout.trimEnd().split('\n');
  const lost = [
    Number(changes) > 0 ? `uncommitted changes (${shortened(names, 200)})` : '',
    Number(commits) > 0
      ? `${commits} commit${commits === '1' ? '' : 's'} that no other branch has`
      : '',
  ];
  const what = lost.filter((each) => each !== '').join(' and ');
  throw new AppError('conflict', `the workspace ${own} of conversation ${id} has ${what}`, {
    hint: `retrieve them: acs conv pull ${id}\nor remove them too: add --force`,
    data: { worktree: own, branch: checkout === null ? null : branch },
  });
}

/**
 * Commits that another branch, a remote-tracking branch or a tag has are not lost. A branch that
 * the agent has made in the repository of a worktree stays. A server that is started again makes an
 * empty repository of a worktree that is gone.
 */
const REMOVE = `
export LC_ALL=C
commit_of() { git rev-parse -q --verify "$1^{commit}"; }
read_changes() {
  list=$(git status --porcelain --untracked-files=all --ignore-submodules=none) || exit 1
  changes=$(printf %s "$list" | grep -c .)
  names=$(printf '%s\\n' "$list" | cut -c4- | head -n 5 | paste -s -d ' ' -)
}
refuse_loss() {
  [ "$unmerged" = remove ] || [ "$commits$changes" = 00 ] || {
    printf '%s\\n' "$commits" "$changes" "$names"
    exit ${LOST}
  }
}
commits=0 changes=0 names= repository= common=
if cd -- "$own" 2>/dev/null && [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]
then
  common=$(cd "$(git rev-parse --git-common-dir)" && pwd -P)
  [ "$(git rev-parse --absolute-git-dir)" = "$common" ] || repository=$common
fi
if [ -n "$repository" ]; then
  read_changes
  tips=$(commit_of HEAD)
elif [ -n "$checkout" ]; then
  repository=$checkout own= tips=
fi
if [ -n "$repository" ]; then
  cd -- "$repository" || exit 1
  tips="$tips $(commit_of "refs/heads/$branch")"
  [ "$tips" = ' ' ] ||
    commits=$(git rev-list --count $tips --not $(commit_of "$base") --exclude="$branch" \
      --branches --remotes --tags) || exit 1
  refuse_loss
  if [ -n "$own" ]; then
    git worktree remove --force "$own" || exit 1
    rmdir "\${own%/*}" 2>/dev/null
  else
    git worktree prune
  fi
  [ -z "$(commit_of "refs/heads/$branch")" ] || git branch -q -D "$branch"
  exit
fi
case $own in "$HOME/.openhands/workspaces/$id/"?*) ;; *) exit ${KEPT} ;; esac
cd -- "$own" 2>/dev/null || exit 0
if [ -n "$common" ]; then
  read_changes
  commits=$(git rev-list --count --all --not $(commit_of "$base") --remotes) || exit 1
else
  changes=$(ls -A | grep -c .)
  names=$(ls -A | head -n 5 | paste -s -d ' ' -)
fi
refuse_loss
cd / && rm -rf -- "$HOME/.openhands/workspaces/$id"
`;
