/**
 * The difference of a workspace against the commit the run started from, taken by git in the sandbox: untracked files
 * through a temporary index, new objects in a temporary store, so that nothing of the workspace changes.
 */
import { AppError, isAppError } from '../../errors.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import type { DiffBase, DiffOptions, FileChange, WorkspaceDiff } from '../server.ts';
import { startedAtMs } from '../quirks/reset-created-at.ts';
import { repositoryName } from '../repository-name.ts';
import { diffFromFiles } from '../diff-from-files.ts';
import { runningAgentOf } from './agent.ts';
import { enterRepository } from '../quirks/repository-folder.ts';
import { getConversation } from './calls.ts';

const DIFF_TIMEOUT_SECONDS = 120;

export async function diffV1(links: Links, id: string, options: DiffOptions = {}): Promise<WorkspaceDiff> {
  const record = await getConversation(links, id);
  const agent = runningAgentOf(links, record);
  const { working_dir, payload } = await agent.conversation();
  const workingDir = working_dir ?? '.';
  const startedMs = startedAtMs(record.created_at, payload['created_at']);
  const { selected_repository: repository } = record;
  const { against = 'start' } = options;
  const output = await gitOutput(agent, workingDir, diffScript(enterRepository(repository), startedMs, against));
  if (output !== null) return output;
  let folder = workingDir.replace(/\/$/, '');
  return diffFromFiles(
    async () => {
      try {
        return await agent.gitChanges(workingDir);
      } catch (error) {
        if (!isAppError(error) || repository === null || !['server', 'not-found'].includes(error.kind)) throw error;
        folder = `${folder}/${repositoryName(repository)}`;
        return await agent.gitChanges(folder);
      }
    },
    (path) => agent.gitDiff(`${folder}/${path}`),
    options,
  );
}

/** Null when git cannot be run in the sandbox. */
async function gitOutput(agent: AgentClient, workingDir: string, script: string): Promise<WorkspaceDiff | null> {
  let result: { exitCode: number; stdout: string; stderr: string };
  try {
    result = await agent.inspect(script, workingDir, DIFF_TIMEOUT_SECONDS);
  } catch (error) {
    if (isAppError(error) && ['not-found', 'unsupported'].includes(error.kind)) return null;
    throw error;
  }
  const match =
    /ACS-BASE ([0-9a-f]*)\nACS-NAMES\n([\sA-Za-z0-9+/=]*)ACS-PATCH\n([\sA-Za-z0-9+/=]*)ACS-ERRORS\n([\sA-Za-z0-9+/=]*)ACS-NESTED\n([\sA-Za-z0-9+/=]*)ACS-SUBMODULES\n([\sA-Za-z0-9+/=]*)ACS-END/.exec(
      result.stdout,
    );
  if (result.exitCode === 127 || result.exitCode === 44) return null;
  if (result.exitCode !== 0 || match === null) {
    const text = result.stderr.trim().slice(0, 500);
    throw new AppError('server', `git in the sandbox did not give a difference${text === '' ? '' : `: ${text}`}`);
  }
  const [names = '', errors = '', nested = '', submodules = ''] = [match[2], match[4], match[5], match[6]].map((part) =>
    new TextDecoder().decode(decodeBase64(part ?? '')),
  );
  const omissions = [
    ...notAdded(errors),
    ...pathsOf(nested).map((path) => `${path}: it is a repository of its own, and its files are not compared`),
    ...pathsOf(submodules).map((path) => `${path}: a submodule with uncommitted changes, which are not compared`),
  ];
  const base = match[1] === '' ? null : (match[1] ?? null);
  return { base, patch: decodeBase64(match[3] ?? ''), changes: parseNameStatus(names), omissions };
}

/** What `git add --ignore-errors` printed of paths that it could not read. */
function notAdded(errors: string): string[] {
  const lines = errors.split('\n').filter((line) => /^(?:error: |warning: could not open )/.test(line));
  return lines.map((line) => `git in the sandbox could not read a path: ${line.replace(/^\w+: /, '')}`);
}

/** Paths that NUL ends. */
function pathsOf(text: string): string[] {
  return text.split('\0').filter((path) => path !== '');
}

function decodeBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** Records of `git diff --name-status -z`. */
export function parseNameStatus(text: string): FileChange[] {
  const parts = text.split('\0');
  const changes: FileChange[] = [];
  for (let index = 0; index < parts.length;) {
    const letter = (parts[index++] ?? '').charAt(0);
    if (letter === '') continue;
    const first = parts[index++] ?? '';
    // A rename or copy names both sides; the new one counts.
    const path = letter === 'R' || letter === 'C' ? (parts[index++] ?? first) : first;
    changes.push({
      path,
      status:
        letter === 'A' || letter === 'C'
          ? 'added'
          : letter === 'D'
            ? 'deleted'
            : letter === 'R'
              ? 'renamed'
              : 'modified',
    });
  }
  return changes;
}

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
function diffScript(enter: string, startedMs: number | null, against: DiffBase): string {
  const startSeconds = startedMs === null ? '' : String(Math.floor(startedMs / 1000));
  return `
command -v git >/dev/null 2>&1 || exit 44
command -v base64 >/dev/null 2>&1 || exit 44
${enter}
t=$(mktemp -d) || exit 1
trap 'rm -rf "$t"' EXIT
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
`;
}
