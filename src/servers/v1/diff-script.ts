/** The script that takes the difference of a workspace in the sandbox. */
import type { DiffBase } from '../server.ts';

/** Of one command: servers cut an output that is much longer. */
export const PIECE_BYTES = 4 * 1024 * 1024;

/** What the script prints, each after a mark, in base64 but for the commit. */
export const DIFF_SECTIONS = ['BASE', 'NAMES', 'PATCH', 'ERRORS', 'NESTED', 'SUBMODULES'] as const;
export type DiffSection = (typeof DIFF_SECTIONS)[number];

/** Makes the empty tree the base of an index that holds the added and changed files alone. */
const KEEP_CHANGED = `git diff $compared --raw -z --no-renames --abbrev=64 --diff-filter=d "$base" >"$t/kept" || exit 1
rm -f "$GIT_INDEX_FILE"
tr '\\0\\n' '\\n\\0' <"$t/kept" | awk '
    NR % 2 { mode = $2; id = $4; next }
    { print mode " " id "\\t" $0 }' | tr '\\0\\n' '\\n\\0' | git update-index -z --index-info || exit 1
base=$(git hash-object -t tree -w /dev/null 2>/dev/null || echo $empty)
`;

/**
 * Prints the names and the patch in base64 between marks: base64, because paths and content may be in any encoding.
 * Where the workspace is not a repository, all its files are new. The base is the last step of the set-up in the history of
 * HEAD: what was cloned or checked out before the conversation began. A repository below the workspace that the base
 * does not have leaves the index again, unless .gitmodules names it: a patch would hold its commit and none of its files.
 * Of a submodule git compares the commit: one with other changes, or with files though it was not checked out, is named.
 * The flags override the configuration of git in the sandbox, with which the patch could be one that git does not apply.
 * The copy of the index keeps its time: git reads the content of a file that is as old as the index or newer, because
 * its time and size may be those of before a change within the same second.
 */
export function diffScript(enter: string, startedMs: number | null, against: DiffBase): string {
  const startSeconds = startedMs === null ? '' : String(Math.floor(startedMs / 1000));
  return `
command -v git >/dev/null 2>&1 || exit 44
command -v base64 >/dev/null 2>&1 || exit 44
${enter}
t=$(mktemp -d) || exit 1
trap 'rm -rf "$t"' EXIT
find "\${TMPDIR:-/tmp}" -maxdepth 1 -name 'acs-diff-*' -mmin +60 -exec rm -f {} + 2>/dev/null
export GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat LC_ALL=C
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904
compared='--cached --ignore-submodules=none -O/dev/null'
as_patch='--src-prefix=a/ --dst-prefix=b/ -U3 --inter-hunk-context=0 --submodule=short'
if ! is_top .; then
  git init -q --bare "$t/repo" || exit 1
  export GIT_DIR="$t/repo" GIT_WORK_TREE="$(pwd)"
  base=
else
  objects=$(git rev-parse --git-path objects)
  case "$objects" in /*) ;; *) objects="$(pwd)/$objects" ;; esac
  base=$(git log -g --date=unix --format='%H %gd %gs' HEAD 2>/dev/null | awk -v start='${startSeconds}' '
    { lines[NR] = $0 }
    END {
      for (i = NR; i >= 1; i--) {
        n = split(lines[i], w, " "); at = w[2]; gsub(/[^0-9]/, "", at)
        if (w[3] !~ /^(clone:|checkout:|reset:|pull|pull:|fetch|branch:|initial)/) break
        if (found != "" && start != "" && at + 0 > start + 0) break
        found = w[1]
      }
      print found
    }')
  mkdir "$t/objects"
  cp -p "$(git rev-parse --git-path index)" "$t/index" 2>/dev/null
  export GIT_OBJECT_DIRECTORY="$t/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
fi
export GIT_INDEX_FILE="$t/index"
git -c core.safecrlf=false add -A --ignore-errors . >/dev/null 2>"$t/errors" || [ $? -eq 1 ] || { cat "$t/errors" >&2; exit 1; }
[ -n "$base" ] || base=$(git hash-object -t tree -w /dev/null 2>/dev/null || echo $empty)
git config -f .gitmodules --get-regexp '^submodule[.].*[.]path$' 2>/dev/null | sed 's/^[^ ]* //' >"$t/modules"
git diff $compared --raw -z --no-renames "$base" >"$t/raw" || exit 1
tr '\\0\\n' '\\n\\0' <"$t/raw" | awk -v modules="$t/modules" '
    BEGIN { while ((getline line <modules) > 0) declared[line] = 1 }
    NR % 2 { link = /^:[0-7]+ 160000 /; known = /^:160000 /; next }
    link && !known && !($0 in declared)' | tr '\\0\\n' '\\n\\0' >"$t/nested"
git update-index -z --force-remove --stdin <"$t/nested" || exit 1
{ git diff-files --raw -z --ignore-submodules=none | tr '\\0\\n' '\\n\\0' | awk '
    NR % 2 { link = /^:160000 160000 /; next }
    link'
  git ls-files -s -z | tr '\\0\\n' '\\n\\0' | sed -n 's/^160000 [^\t]*\t//p' | while IFS= read -r sub; do
    [ -e "$sub/.git" ] || [ -z "$(ls -A "./$sub" 2>/dev/null)" ] || printf '%s\\n' "$sub"
  done
} | tr '\\0\\n' '\\n\\0' >"$t/submodules"
commit=$(git rev-parse --verify --quiet "$base^{commit}")
${against === 'nothing' ? KEEP_CHANGED : ''}git diff $compared --name-status -z -M "$base" >"$t/names" || exit 1
git diff $compared $as_patch --binary --full-index --no-color --no-ext-diff --no-textconv -M "$base" >"$t/patch" || exit 1
{
echo "ACS-BASE $commit"
echo ACS-NAMES
base64 <"$t/names"
echo ACS-PATCH
base64 <"$t/patch"
echo ACS-ERRORS
base64 <"$t/errors"
echo ACS-NESTED
base64 <"$t/nested"
echo ACS-SUBMODULES
base64 <"$t/submodules"
echo ACS-END
} >"$t/answer" || exit 1
bytes=$(wc -c <"$t/answer")
if [ "$bytes" -le ${PIECE_BYTES} ]; then
  cat "$t/answer"
else
  file=$(mktemp "\${TMPDIR:-/tmp}/acs-diff-XXXXXX") && mv "$t/answer" "$file" || exit 1
  echo "ACS-LONG $((bytes)) $file"
fi
`;
}
