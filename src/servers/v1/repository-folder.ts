/**
 * Where the repository of a conversation is (interface 13): up to 1.5.0 the server clones it into
 * `<working_dir>/<name>`, from 1.6.0 on the working directory is the repository itself.
 */
import { repositoryName } from '../repository-name.ts';
import { shellQuote } from '../shell.ts';

/**
 * A line of shell that goes from the working directory to the folder below it that holds the clone, if there is one and
 * the working directory is not a clone itself. `is_top <folder>` is defined then: whether a repository begins there.
 */
export function enterRepository(repository: string | null): string {
  const define = `is_top() { top=$(git -C "$1" rev-parse --show-toplevel 2>/dev/null) && [ -n "$top" ] && [ "$(cd "$1" && pwd -P)" = "$(cd "$top" && pwd -P)" ]; }`;
  const name = repository === null ? '' : repositoryName(repository);
  if (name === '' || name === '.' || name === '..') return define;
  const folder = shellQuote(`./${name}`);
  return `${define}
is_clone() { is_top "$1" && [ -n "$(git -C "$1" remote)" ]; }
is_clone . || { is_clone ${folder} && cd ${folder}; }`;
}
