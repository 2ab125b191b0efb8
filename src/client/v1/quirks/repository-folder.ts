/**
 * Finds the clone of the repository, in the working directory or in the folder below it.
 *
 * Servers:  openhands-ai up to 1.5.0 clone into `<working_dir>/<name>`; from 1.6.0 on `working_dir`
 *           is the clone
 * Symptom:  `conv diff` shows no changes, and `conv new --repo` reports that the repository did not
 *           arrive; so it does where the agent has removed `.git` before acs looks for it.
 * Evidence: interface 13 "Folder of the repository": run on 1.4.0 and 1.6.0;
 *           test/client/quirks/repository-folder.test.ts
 * Cost:     0 requests; a few lines in the shell command that is run anyway
 * Remove:   when servers before 1.6.0 are no longer supported
 */
import type { AgentConversationRecord } from '../../../protocol/agent-server/records.ts';
import { GIT_IN_SHELL } from '../../../base/git-config.ts';
import { shellQuote } from '../../../base/text/shell-quote.ts';

/**
 * Shell that enters the clone, from any folder. It defines `git`. `kept`: the copy of its commit,
 * which only the local service has; with it nothing is entered. `is_top <folder>`: a repository
 * begins there; `is_clone <folder>`: it has a remote too. `no_clone` exits 45 where the folder has
 * files that are older than the conversation, so that a clone was there, else 41.
 */
export function enterClone(
  { working_dir, payload }: AgentConversationRecord,
  repository: string | null,
): string {
  const name = repository === null ? '' : repositoryName(repository);
  const below = shellQuote(['', '.', '..'].includes(name) ? '.' : `./${name}`);
  return `${GIT_IN_SHELL}
dir=${shellQuote((working_dir ?? '.').replace(/(?!^)\/+$/, ''))}
kept=${repository === null ? '' : '${ACS_BASES:+$ACS_BASES/${dir##*/}.git}'}
is_top() {
  top=$(git -C "$1" rev-parse --show-toplevel 2>/dev/null) && [ -n "$top" ] &&
    [ "$(cd "$1" && pwd -P)" = "$(cd "$top" && pwd -P)" ]
}
is_clone() { is_top "$1" && [ -n "$(git -C "$1" remote)" ]; }
no_clone() {
  [ -d ${below} ] && cd ${below}
  [ "\${PWD##*/}" = ${shellQuote(name)} ] || exit 41
  begun=${shellQuote(String(payload['created_at']))}
  old=$(find . -mindepth 1 -name .git -prune -o ! -newerct "$begun" -print -quit 2>/dev/null)
  [ -n "$old" ] && exit 45
  exit 41
}
[ -d "$kept" ] || {
  cd "$dir" || exit ${repository === null ? 1 : 41}
  is_clone . || { is_clone ${below} && cd ${below}; }
}`;
}

export function repositoryName(repository: string): string {
  const path = repository.replace(/[/\\]+$/, '').replace(/\.git$/, '');
  return path.split(/[/\\:]/).at(-1) ?? '';
}
