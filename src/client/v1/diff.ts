/** Git in the sandbox compares with an index and object store of its own, and changes nothing. */
import { AppError, isOfKind, nullIf } from '../../base/errors.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../shared/links.ts';
import type { DiffOptions, FileChange, WorkspaceDiff } from '../shared/server.ts';
import { lostClone, notCloned } from '../shared/start-errors.ts';
import { parseTime } from '../../base/text/time.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { diffFromFiles } from '../shared/diff-from-files.ts';
import { runningAgentOf } from './agent.ts';
import { enterClone, repositoryName } from './quirks/repository-folder.ts';
import { getConversation } from './calls.ts';
import { cut } from '../../base/text/well-formed.ts';

const DIFF_TIMEOUT_SECONDS = 120;

const PIECE_BYTES = 4 * 1024 * 1024;

const MOST_BYTES = 320 * 1024 * 1024;

export async function diffV1(
  links: Links,
  id: string,
  options: DiffOptions = {},
): Promise<WorkspaceDiff> {
  const record = await getConversation(links, id);
  const agent = runningAgentOf(links, record);
  const conversation = await agent.conversation();
  const workingDir = conversation.working_dir ?? '.';
  const { selected_repository: repository } = record;
  const startedMs = parseTime(record.created_at);
  const script = [
    FIRST,
    enterClone(conversation, repository),
    repository === null ? '' : '[ -d "$kept" ] || is_top . || no_clone',
    `is_clone=${repository === null ? '' : 'yes'}`,
    `started=${startedMs === null ? '' : Math.floor(startedMs / 1000)}`,
    `against=${options.against ?? 'start'}`,
    COMPARE,
  ];
  const byGit = await gitDiff(agent, script.join('\n'));
  if (byGit !== null) return byGit;
  let folder = workingDir.replace(/\/$/, '');
  const diff = await diffFromFiles(
    () =>
      agent.gitChanges(workingDir).catch(async (error: unknown) => {
        if (repository === null || !isOfKind('server', 'not-found')(error)) throw error;
        folder = `${folder}/${repositoryName(repository)}`;
        return await agent.gitChanges(folder);
      }),
    (path) => agent.gitDiff(`${folder}/${path}`),
    options,
  );
  // A server gives the same answer when nothing was cloned and when nothing was changed.
  if (diff.changes.length === 0 && repository !== null)
    diff.omissions.push(
      `changes of ${repository}: this server does not return whether it was cloned`,
    );
  return diff;
}

async function gitDiff(agent: AgentClient, script: string): Promise<WorkspaceDiff | null> {
  const run = (command: string) => agent.inspect(command, DIFF_TIMEOUT_SECONDS);
  const result = await run(script).catch(nullIf(isOfKind('not-found', 'unsupported')));
  if (result === null || result.exitCode === 127 || result.exitCode === 44) return null;
  if (result.exitCode === 41)
    throw notCloned('the repository of the conversation', agent.conversationId);
  if (result.exitCode === 45) throw lostClone(agent.conversationId);
  const answer = result.exitCode === 0 ? await wholeAnswer(run, result.stdout) : '';
  // The name of each section and its text: no mark is in base64.
  const words = answer.split(/^ACS-([a-z]+)/m).slice(1);
  const sections = new Map(words.map((word, index) => [word, words[index + 1] ?? '']));
  if (!sections.has('end')) {
    const text = cut(result.stderr.trim(), 500);
    const reason = text === '' ? '' : `: ${text}`;
    throw new AppError('server', `git in the sandbox returned no diff${reason}`);
  }
  const bytesOf = (name: string) => Buffer.from(sections.get(name) ?? '', 'base64');
  const linesOf = (name: string, end = '\0') =>
    bytesOf(name)
      .toString()
      .split(end)
      .filter((line) => line !== '');
  const omitted = (name: string, why: string) => linesOf(name).map((path) => `${path}: ${why}`);
  return {
    base: /[0-9a-f]+/.exec(sections.get('base') ?? '')?.[0] ?? null,
    patch: bytesOf('patch'),
    changes: readNameStatus(linesOf('names')),
    omissions: [
      ...linesOf('errors', '\n')
        .filter((line) => /^(?:error: |warning: could not open )/.test(line))
        .map((line) => `git in the sandbox could not read a path: ${line.replace(/^\w+: /, '')}`),
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
  const [, digits, file] = /^ACS-long (\d+) (\/[^\n]+)\n$/.exec(stdout) ?? [];
  if (file === undefined) return stdout;
  const bytes = Number(digits);
  if (bytes > MOST_BYTES) {
    const most = `${MOST_BYTES / 1024 / 1024} MiB`;
    throw new AppError('conflict', `the changes are too large for a patch: more than ${most}`, {
      hint: 'copy the files out of the sandbox: acs sandbox cp <id>:<path> .',
    });
  }
  const pieces: string[] = [];
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) {
    const print = `tail -c +${offset + 1} ${shellQuote(file)} | head -c ${PIECE_BYTES}`;
    const remove = offset + PIECE_BYTES < bytes ? '' : `; rm -f ${shellQuote(file)}`;
    pieces.push((await run(`${print}${remove}`)).stdout);
  }
  return pieces.join('');
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

const FIRST = `
command -v git >/dev/null 2>&1 || exit 44
command -v base64 >/dev/null 2>&1 || exit 44
t=$(mktemp -d) || exit 1
trap 'rm -rf "$t"' EXIT
`;

/**
 * In base64: paths and content may be in any encoding. The base is the last step of the set-up in
 * the history of HEAD. The index loses nested repositories, of which a patch would have the commit
 * alone, unless .gitmodules names them, and files of Git LFS, of which the workspace may have the
 * pointer alone. Its copy keeps its time: git reads a file again that is as old as the index.
 */
const COMPARE = `
find "\${TMPDIR:-/tmp}" -maxdepth 1 -name 'acs-diff-*' -mmin +60 -exec rm -f {} + 2>/dev/null
export GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904
compared='--cached --ignore-submodules=none'
if [ -d "$kept" ]; then
  cd "$dir" 2>/dev/null || { mkdir "$t/none" && cd "$t/none"; } || exit 1
  export GIT_DIR="$kept" GIT_WORK_TREE="$(pwd)"
  objects=$kept/objects
  base=$(git rev-parse --verify --quiet HEAD)
elif ! is_top .; then
  git init -q --bare "$t/repo" || exit 1
  export GIT_DIR="$t/repo" GIT_WORK_TREE="$(pwd)"
  base=
else
  objects=$(git rev-parse --git-path objects)
  case "$objects" in /*) ;; *) objects="$(pwd)/$objects" ;; esac
  base=$(git log -g --date=unix --format='%H %gd %gs' HEAD 2>/dev/null |
    awk -v start="$started" '
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
  # Only a clone of a repository without commits has no base.
  if [ -z "$base" ] && [ -n "$is_clone" ]; then
    head=$(git rev-parse -q --verify HEAD)
    logged=$(git log -g -1 HEAD 2>/dev/null)
    if [ -z "$(git remote)" ] || { [ -n "$head" ] && [ -z "$logged" ]; }; then
      [ -n "$head" ] || no_clone
      exit 45
    fi
  fi
fi
cp -p "$(git rev-parse --git-path index)" "$t/index" 2>/dev/null
if [ -n "$objects" ]; then
  mkdir "$t/objects"
  export GIT_OBJECT_DIRECTORY="$t/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
fi
export GIT_INDEX_FILE="$t/index"
own_config
git add -A --ignore-errors . >/dev/null 2>"$t/errors" || [ $? -eq 1 ] || {
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
for part in names patch errors nested submodules lfs; do
  echo "ACS-$part"
  base64 <"$t/$part" || exit 1
done
echo ACS-end
} >"$t/answer" || exit 1
bytes=$(wc -c <"$t/answer")
if [ "$bytes" -le ${PIECE_BYTES} ]; then
  cat "$t/answer"
else
  file=$(mktemp "\${TMPDIR:-/tmp}/acs-diff-XXXXXX") && mv "$t/answer" "$file" || exit 1
  echo "ACS-long $((bytes)) $file"
fi
`;
