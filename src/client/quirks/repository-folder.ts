/**
 * Finds the clone of the repository, in the working directory or in the folder below it.
 *
 * Servers:  openhands-ai up to 1.5.0 clone into `<working_dir>/<name>`; from 1.6.0 on `working_dir` is the clone
 * Symptom:  `conv diff` shows no changes, and `conv new --repo` reports that the repository did not arrive.
 * Evidence: interface 13 "Folder of the repository": run on 1.4.0 and 1.6.0;
 *           test/client/quirks/repository-folder.test.ts
 * Cost:     0 requests; a few lines in the shell command that is run anyway
 * Remove:   when servers before 1.6.0 are no longer supported
 */
import { GIT_IN_SHELL } from '../../local/git-config.ts';
import { shellQuote } from '../../output/text/shell-quote.ts';

/** Shell that enters the clone. It defines `git`, and `is_top <folder>`: whether a repository begins there. */
export function enterRepository(repository: string | null): string {
  const define = `${GIT_IN_SHELL}
is_top() { top=$(git -C "$1" rev-parse --show-toplevel 2>/dev/null) && [ -n "$top" ] && [ "$(cd "$1" && pwd -P)" = "$(cd "$top" && pwd -P)" ]; }`;
  const name = repository === null ? '' : repositoryName(repository);
  if (name === '' || name === '.' || name === '..') return define;
  const folder = shellQuote(`./${name}`);
  return `${define}
is_clone() { is_top "$1" && [ -n "$(git -C "$1" remote)" ]; }
is_clone . || { is_clone ${folder} && cd ${folder}; }`;
}

/** The name of the folder that git clones `owner/name`, a URL or a path into. */
export function repositoryName(repository: string): string {
  const path = repository.replace(/[/\\]+$/, '').replace(/\.git$/, '');
  return path.split(/[/\\:]/).at(-1) ?? '';
}
