/**
 * Git compares with an index and object store of its own, and changes nothing. Scripts need git and
 * the programs of POSIX with base64.
 */
import { AppError } from '../../base/errors.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import type { FileLines } from '../../domain/patch.ts';
import { cut } from '../../base/text/well-formed.ts';
import type { FileChange, WorkspaceDiff } from '../shared/server.ts';
import type { CommandResult } from './shell-command.ts';

export const DIFF_TIMEOUT_SECONDS = 120;

const PIECE_BYTES = 4 * 1024 * 1024;

const MOST_BYTES = 320 * 1024 * 1024;

/** In base64 less than SHORT_BYTES. */
const BRIEF_BYTES = 700_000;

/** Exit code of a script where git or base64 is missing. */
export const NO_PROGRAMS = 44;

/**
 * @param result of FIRST, what defines `git` and sets the variables of COMPARE, and COMPARE
 * @param run runs a command that changes nothing; for an answer of more than one piece
 * @param omissionOf the omission of a `note`
 */
export async function readGitDiff(
  result: CommandResult,
  run: (command: string) => Promise<{ stdout: string }>,
  omissionOf: (note: string) => string = String,
): Promise<WorkspaceDiff> {
  const answer = result.exitCode === 0 ? await wholeAnswer(run, result.stdout) : '';
  // The name of each section and its text: no mark is in base64.
  const words = answer.split(/^ACS-([a-z]+)/m).slice(1);
  const sections = new Map(words.map((word, index) => [word, words[index + 1] ?? '']));
  if (!sections.has('end')) {
    const text = cut(result.stderr.trim(), 500);
    const reason = text === '' ? '' : `: ${text}`;
    throw new AppError('server', `git in the workspace returned no diff${reason}`);
  }
  const bytesOf = (name: string) => Buffer.from(sections.get(name) ?? '', 'base64');
  const linesOf = (name: string, end = '\0') =>
    bytesOf(name)
      .toString()
      .split(end)
      .filter((line) => line !== '');
  const omitted = (name: string, why: string) => linesOf(name).map((path) => `${path}: ${why}`);
  const note = sections.get('note')?.trim() ?? '';
  return {
    base: /[0-9a-f]+/.exec(sections.get('base') ?? '')?.[0] ?? null,
    patch: bytesOf('patch'),
    changes: readNameStatus(linesOf('names')),
    omissions: [
      ...(note === '' ? [] : [omissionOf(note)]),
      ...linesOf('errors', '\n')
        .filter((line) => /^(?:error: |warning: could not open )/.test(line))
        .map((line) => `git in the workspace could not read a path: ${line.replace(/^\w+: /, '')}`),
      ...omitted('nested', 'a nested git repository, whose files are not compared'),
      ...omitted('submodules', 'a submodule with uncommitted changes, which are not compared'),
      ...omitted('lfs', 'a file of Git LFS, which is not compared'),
    ],
  };
}

async function wholeAnswer(
  run: (command: string) => Promise<{ stdout: string }>,
  stdout: string,
): Promise<string> {
  if (stdout === 'ACS-large\n') {
    const most = `${MOST_BYTES / 1024 / 1024} MiB`;
    throw new AppError('conflict', `the changes are too large for a patch: more than ${most}`, {
      hint: 'copy the files: acs sandbox cp <id>:<path> .',
    });
  }
  const [, digits, file] = /^ACS-long (\d+) (\/[^\n]+)\n$/.exec(stdout) ?? [];
  if (file === undefined) return stdout;
  const bytes = Number(digits);
  const pieces: string[] = [];
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) {
    const print = `tail -c +${offset + 1} ${shellQuote(file)} | head -c ${PIECE_BYTES}`;
    const remove = offset + PIECE_BYTES < bytes ? '' : `; rm -f ${shellQuote(file)}`;
    pieces.push((await run(`${print}${remove}`)).stdout);
  }
  return pieces.join('');
}

export const BRIEF_SECONDS = 2;

/** @param result of a script as for readGitDiff, with `brief=yes` */
export function readFileLines({ exitCode, stdout }: CommandResult): FileLines[] {
  if (exitCode !== 0)
    throw new AppError('server', 'git in the workspace returned no list of files');
  const fields = Buffer.from(stdout, 'base64').toString().split('\0');
  const lineCount = (count: string) => (count === '-' ? null : Number(count));
  const files: FileLines[] = [];
  for (let index = 0; index < fields.length; index += 1) {
    const [, added, removed, name = ''] =
      /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(fields[index] ?? '') ?? [];
    if (added === undefined || removed === undefined) continue;
    // Of a renamed file the old name and the new one follow.
    const path = name || (fields[(index += 2)] ?? '');
    files.push({ path, added: lineCount(added), removed: lineCount(removed) });
  }
  return files;
}

const STATUS: Record<string, FileChange['status']> = {
  A: 'added',
  C: 'added',
  D: 'deleted',
  R: 'renamed',
};

function readNameStatus(fields: readonly string[]): FileChange[] {
  const changes: FileChange[] = [];
  for (let index = 0; index < fields.length;) {
    const letter = (fields[index] ?? '').charAt(0);
    const width = letter === 'R' || letter === 'C' ? 3 : 2;
    changes.push({ path: fields[index + width - 1] ?? '', status: STATUS[letter] ?? 'modified' });
    index += width;
  }
  return changes;
}

/** `no_repository`, `find_objects`: set what COMPARE needs where there is none, and one. */
export const FIRST = `
command -v git >/dev/null 2>&1 || exit ${NO_PROGRAMS}
command -v base64 >/dev/null 2>&1 || exit ${NO_PROGRAMS}
t=$(mktemp -d) || exit 1
trap 'rm -rf "$t"' EXIT
find "\${TMPDIR:-/tmp}" -maxdepth 1 -name 'acs-diff-*' -mmin +60 -exec rm -f {} + 2>/dev/null
export GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904
compared='--cached --ignore-submodules=none'
kept= objects= base= tree= note= brief= most=${PIECE_BYTES}
no_repository() {
  git init -q --bare "$t/repo" || exit 1
  export GIT_DIR="$t/repo" GIT_WORK_TREE="$(pwd)"
  base=
}
find_objects() {
  objects=$(git rev-parse --git-path objects)
  case "$objects" in /*) ;; *) objects="$(pwd)/$objects" ;; esac
}
`;

/**
 * In base64: paths and content may be in any encoding. The index loses nested repositories, of
 * which a patch would have the commit alone, unless .gitmodules names them, and files of Git LFS,
 * of which the workspace may have the pointer alone. Its copy keeps its time: git reads a file
 * again that is as old as the index.
 *
 * Needs GIT_IN_SHELL, at the top of the work tree. Variables: `base`, a commit, empty for nothing;
 * `tree`, a commit that is compared instead of the files; `objects`, empty without a repository;
 * `kept`, of the local service; `against`, a DiffBase; `most`, bytes of an answer in one piece;
 * `brief`: print the lines that each file gained and lost instead, for readFileLines.
 */
export const COMPARE = `
[ -n "$tree" ] || cp -p "$(git rev-parse --git-path index)" "$t/index" 2>/dev/null
if [ -n "$objects" ]; then
  mkdir "$t/objects"
  export GIT_OBJECT_DIRECTORY="$t/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
fi
export GIT_INDEX_FILE="$t/index"
own_config
if [ -n "$tree" ]; then
  git read-tree "$tree" 2>"$t/errors"
else
  git add -A --ignore-errors . >/dev/null 2>"$t/errors" || [ $? -eq 1 ]
fi || {
  cat "$t/errors" >&2
  exit 1
}
[ ! -d "$kept" ] || own_files 2>>"$t/errors"
[ -n "$base" ] || base=$(git hash-object -t tree -w /dev/null 2>/dev/null || echo $empty)
git config -f .gitmodules --get-regexp '^submodule[.].*[.]path$' 2>/dev/null |
  sed 's/^[^ ]* //' >"$t/modules"
git diff $compared --raw -z --no-renames "$base" >"$t/raw" || exit 1
tr '\\0\\n' '\\n\\0' <"$t/raw" | awk -v modules="$t/modules" '
    BEGIN { while ((getline line <modules) > 0) declared[line] = 1 }
    NR % 2 { link = /^:[0-7]+ 160000 /; known = /^:160000 /; next }
    link && !known && !($0 in declared)' | tr '\\0\\n' '\\n\\0' >"$t/nested"
git update-index -z --force-remove --stdin <"$t/nested" || exit 1
git diff $compared --name-only -z --no-renames "$base" |
  git check-attr -z --stdin filter | tr '\\0\\n' '\\n\\0' | awk '
    NR % 3 == 1 { path = $0 }
    NR % 3 == 0 && $0 == "lfs" { print path }' | tr '\\0\\n' '\\n\\0' >"$t/lfs"
[ ! -s "$t/lfs" ] || git --literal-pathspecs reset -q "$base" \\
  --pathspec-from-file="$t/lfs" --pathspec-file-nul || exit 1
if [ -n "$brief" ]; then
  git diff $compared --numstat -z -M "$base" >"$t/lines" || exit 1
  [ "$(wc -c <"$t/lines")" -le ${BRIEF_BYTES} ] && base64 <"$t/lines"
  exit
fi
{ git diff-files --raw -z --ignore-submodules=none | tr '\\0\\n' '\\n\\0' | awk '
    NR % 2 { link = /^:160000 160000 /; next }
    link'
  git ls-files -s -z | tr '\\0\\n' '\\n\\0' | sed -n 's/^160000 [^\t]*\t//p' |
    while IFS= read -r sub; do
      [ -e "$sub/.git" ] || [ -z "$(ls -A "./$sub" 2>/dev/null)" ] || printf '%s\\n' "$sub"
    done
} | tr '\\0\\n' '\\n\\0' >"$t/submodules"
commit=$(git rev-parse --verify --quiet "$base^{commit}")
if [ "$against" = nothing ]; then
  # The empty tree is the base of an index that holds the added and changed files alone.
  git diff $compared --raw -z --no-renames --abbrev=64 --diff-filter=d "$base" >"$t/kept" || exit 1
  rm -f "$GIT_INDEX_FILE"
  tr '\\0\\n' '\\n\\0' <"$t/kept" | awk '
    NR % 2 { mode = $2; id = $4; next }
    { print mode " " id "\\t" $0 }' | tr '\\0\\n' '\\n\\0' |
    git update-index -z --index-info || exit 1
  base=$(git hash-object -t tree -w /dev/null 2>/dev/null || echo $empty)
fi
git diff $compared --name-status -z -M "$base" >"$t/names" || exit 1
git diff $compared --binary --full-index --no-ext-diff --no-textconv -M "$base" \\
  >"$t/patch" || exit 1
{
echo "ACS-base $commit"
echo "ACS-note $note"
for part in names patch errors nested submodules lfs; do
  echo "ACS-$part"
  base64 <"$t/$part" || exit 1
done
echo ACS-end
} >"$t/answer" || exit 1
bytes=$(wc -c <"$t/answer")
if [ "$bytes" -le "$most" ]; then
  cat "$t/answer"
elif [ "$bytes" -gt ${MOST_BYTES} ]; then
  echo ACS-large
else
  file=$(mktemp "\${TMPDIR:-/tmp}/acs-diff-XXXXXX") && mv "$t/answer" "$file" || exit 1
  echo "ACS-long $((bytes)) $file"
fi
`;
