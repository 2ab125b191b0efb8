/** Links of a workspace without isolation, which a command would follow. */
import path from 'node:path';
import { entriesOf, realPath } from '../../base/files.ts';

/** Files and folders that are looked at. With more, a command counts as one that leads outside. */
const MOST_FILES = 5000;

/** Whether one of `words` of a command, taken for a file in one of `folders`, is out of `root`. */
export function leadsOutside(
  root: string,
  folders: readonly string[],
  words: readonly string[],
): boolean {
  const inside = realPath(root) ?? root;
  const isOutside = (file: string): boolean => {
    const real = realPath(file);
    return real !== null && real !== inside && !real.startsWith(`${inside}/`);
  };
  const names = ['.', ...words.flatMap((word) => [word, ...namesInOption(word)])];
  let left = MOST_FILES;
  for (const name of folders.flatMap((folder) => names.map((each) => path.resolve(folder, each)))) {
    for (const files of filesOf(name)) {
      left -= files.length;
      if (left < 0 || files.some(isOutside)) return true;
    }
  }
  return false;
}

/** As in `-fname`, `-nfname` and `--file=name`. */
function namesInOption(word: string): string[] {
  const [, value] = /=(.+)$/s.exec(word) ?? [];
  const letters = /^-\w./.test(word) ? [...word.slice(2)] : [];
  return [...(value === undefined ? [] : [value]), ...letters.map((_, at) => word.slice(2 + at))];
}

/** Those that an absolute path with `*` and `?` may stand for, after each pattern in it. */
function* filesOf(given: string): Iterable<string[]> {
  const [first = '', ...rest] = given.split(/(?=\/[^/]*[*?])/);
  let files = [first];
  yield files;
  for (const part of rest) {
    const [, pattern = '', below = ''] = /^\/([^/]*)(.*)$/s.exec(part) ?? [];
    files = files.flatMap((folder) =>
      matching(folder, pattern).map((entry) => `${folder}/${entry}${below}`),
    );
    yield files;
  }
}

/** More than the pattern does: only its beginning and its end are compared. */
function matching(folder: string, pattern: string): string[] {
  const literals = pattern.split(/[*?]/);
  const [first = '', last = ''] = [literals[0], literals.at(-1)];
  const names = entriesOf(folder).map(({ name }) => name);
  return names.filter((name) => name.startsWith(first) && name.endsWith(last));
}
