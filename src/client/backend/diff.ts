/**
 * By git over the bash route. The patch of /api/file/archive lacks ignored files that were
 * committed, has binary content as its textconv, and there is none where a nested repository has no
 * commit (interface 14.2).
 */
import type { FileLines } from '../../domain/patch.ts';
import { AppError } from '../../base/errors.ts';
import { GIT_IN_SHELL } from '../../base/git-config.ts';
import { cut } from '../../base/text/well-formed.ts';
import {
  BRIEF_SECONDS,
  COMPARE,
  DIFF_TIMEOUT_SECONDS,
  FIRST,
  NO_PROGRAMS,
  readFileLines,
  readGitDiff,
} from '../agent-server/git-diff.ts';
import { runCommand, runShortCommand, SHORT_BYTES } from '../agent-server/shell-command.ts';
import type { Links } from '../shared/links.ts';
import type { DiffOptions, WorkspaceDiff } from '../shared/server.ts';
import { routesOf, shellVariables, type ConversationFolder } from './folder.ts';

const GONE = 46;

export async function changedFilesBackend(
  links: Links,
  place: ConversationFolder,
): Promise<FileLines[]> {
  const command = scriptOf(place, { brief: 'yes' });
  const limits = { safe: 'read', timeoutSeconds: BRIEF_SECONDS } as const;
  return readFileLines(await runShortCommand(routesOf(links, place.id), { command, ...limits }));
}

function scriptOf(
  { folder, branch, checkout, base, startedMs }: ConversationFolder,
  options: Record<string, string>,
): string {
  const started =
    startedMs === null ? null : new Date(startedMs).toISOString().replace(/\..*/, 'Z');
  const variables = shellVariables({ folder, branch, checkout, base, started, ...options });
  return [FIRST, GIT_IN_SHELL, variables, ENTER, COMPARE].join('\n');
}

export async function diffBackend(
  links: Links,
  place: ConversationFolder,
  { against = 'start' }: DiffOptions = {},
): Promise<WorkspaceDiff> {
  const { id, folder } = place;
  const routes = routesOf(links, id);
  const limits = { safe: 'read', timeoutSeconds: DIFF_TIMEOUT_SECONDS } as const;
  const result = await runShortCommand(routes, {
    command: scriptOf(place, { against }),
    ...limits,
  });
  const shown = cut(folder, 500);
  if (result.exitCode === GONE)
    throw new AppError('conflict', `the folder of this conversation is gone: ${shown}`, {
      hint: `its events have the edits of files: acs conv export ${id} --as md`,
      data: { working_dir: folder },
    });
  if (result.exitCode === NO_PROGRAMS)
    throw new AppError('unsupported', 'the machine of this server lacks git or base64');
  const run = (command: string) => runCommand(links, routes, { command, cwd: null, ...limits });
  return await readGitDiff(result, run, (note) =>
    note === '?'
      ? 'commits of the run: the commit that it started from is not known'
      : `uncommitted changes: the worktree ${shown} is gone, and its branch ${note} is compared`,
  );
}

/**
 * The start commit is that of the tag, else that of HEAD at the time of the start, else where HEAD
 * has left the default branch. A server that is started again makes an empty repository of a folder
 * that is gone.
 */
const ENTER = `
most=${SHORT_BYTES}
commit_of() { git rev-parse -q --verify "$1^{commit}" 2>/dev/null; }
fork_of() {
  for name in origin/HEAD origin/main origin/master main master; do
    [ "$(git rev-parse -q --verify --symbolic-full-name "$name")" != "$own" ] &&
      git merge-base "$1" "$name" 2>/dev/null && return
  done
  return 1
}
top= gone=
if cd -- "$folder" 2>/dev/null; then
  top=$(git rev-parse --show-toplevel 2>/dev/null)
  # A folder of which the repository around it has no file is no part of it.
  [ "$top" = "$(pwd -P)" ] || [ -n "$base" ] || git ls-files 2>/dev/null | grep -q . || top=
  [ -z "$top" ] || cd "$top" || exit 1
  [ -z "$checkout" ] ||
    [ "$(git rev-parse --git-dir)" != "$(git rev-parse --git-common-dir)" ] || gone=yes
  [ -z "$base" ] || commit_of "$base" >/dev/null || gone=yes
else
  gone=yes
fi
if [ -n "$gone" ]; then
  [ -n "$checkout" ] && cd -- "$checkout" 2>/dev/null || exit ${GONE}
  # The branch of the worktree, or its commit without one; a pruned worktree has none.
  own=$(git worktree list --porcelain 2>/dev/null | awk -v folder="$folder/" '
    /^worktree / { here = index(folder, substr($0, 10) "/") == 1 }
    here && /^(HEAD|branch) / { print $2 }' | tail -n 1)
  own=\${own:-refs/heads/$branch}
  tree=$(commit_of "$own") || exit ${GONE}
  note=\${own#refs/heads/}
  find_objects
  [ -n "$base" ] || base=$(fork_of "$tree") || exit ${GONE}
  GIT_DIR=$(cd "$(git rev-parse --git-common-dir)" && pwd)
  mkdir "$t/none" && cd "$t/none" || exit 1
  export GIT_DIR GIT_WORK_TREE="$t/none"
elif [ -z "$top" ]; then
  no_repository
else
  find_objects
  own=$(git symbolic-ref -q HEAD)
  [ -n "$base" ] || ! head=$(commit_of HEAD) || base=$(commit_of "HEAD@{$started}") ||
    base=$(fork_of HEAD) || { base=$head note='?'; }
fi
`;
