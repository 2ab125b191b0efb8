/** Git runs inside: the agent controls the repository, whose configuration may run programs. */
import path from 'node:path';
import { GIT_IN_SHELL } from '../../base/git-config.ts';
import { IsolationError, onRefusal } from '../isolation/connection.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { cut } from '../../base/text/well-formed.ts';

interface GitChange {
  status: 'ADDED' | 'DELETED' | 'UPDATED';
  path: string;
}

const LARGEST_ANSWER = 64 * 1024 * 1024;
const LARGEST_DIFFED_FILE = 5 * 1024 * 1024;
const [NO_REPOSITORY, UNKNOWN_REF] = [3, 4];

/**
 * `$1`: a folder; `$2`: a ref, or empty. Sets `base`, empty when every file is new, and `tree`, its
 * form for git. With the commit of the clone as the base, git uses the copy of that commit, and
 * nothing of the `.git` of the workspace.
 */
const BEGIN = `${GIT_IN_SHELL}
commit() { git rev-parse --verify --quiet "$1^{commit}"; }
kept=$(git --git-dir="$KEPT" rev-parse --verify --quiet HEAD 2>/dev/null)
index=
if [ -d "$KEPT" ] && { [ -z "$2" ] || [ "$2" = "$kept" ]; }; then
  [ -d "$TOP" ] || { mkdir -p "$NONE" && TOP=$NONE && set -- "$NONE" "$2" "$3"; }
  index=$KEPT/index
  export GIT_DIR="$KEPT" GIT_WORK_TREE="$TOP"
elif [ -n "$new" ] && [ "$1/" = "$TOP" ] && ! git -C "$1" rev-parse --git-dir >/dev/null 2>&1; then
  git init --quiet --bare "$NONE.git" && export GIT_DIR="$NONE.git" GIT_WORK_TREE="$1"
fi
cd "$1" 2>/dev/null && [ "$(git rev-parse --is-inside-work-tree 2>/dev/null)" = true ] ||
  exit ${NO_REPOSITORY}
own_config 2>/dev/null
base=
case \${index:+kept}$2 in
  kept*) base=$kept ;;
  -*) exit ${String(UNKNOWN_REF)} ;;
  ?*) base=$(commit "$2") || [ "$2" = HEAD ] || exit ${String(UNKNOWN_REF)} ;;
  *)
    branch=$(git symbolic-ref --short -q HEAD) && base=$(commit "refs/remotes/origin/$branch")
    if [ -z "$base" ] && main=$(commit refs/remotes/origin/HEAD); then
      base=$(git merge-base HEAD "$main") || base=$main
    fi ;;
esac
tree=$base
[ -n "$tree" ] || tree=$(git hash-object -t tree /dev/null) || exit
`;

/** Prints changed files with their letters, an empty field, and the untracked files. */
const CHANGES = `${BEGIN}
git diff --name-status -z --no-renames --no-ext-diff --relative "$tree" -- . || exit
printf '\\0'
git ls-files --others --exclude-standard -z -- .`;

/** Prints the file `$3` of the base behind an `x`; nothing when no file is there. */
const BLOB = `${BEGIN}
file=\${index:+$REST}
file=$base:\${file:-./$3}
[ -n "$base" ] && [ "$(git cat-file -t "$file" 2>/dev/null)" = blob ] || exit 0
printf x
git cat-file blob "$file"`;

/** Prints one patch of everything; a workspace without a repository has only new files. */
const DELTA = `new=1${BEGIN}
t=$3/delta-$$
trap 'rm -rf "$t"' EXIT
objects=$(cd "$(git rev-parse --git-path objects)" && pwd) && mkdir -p "$t/objects" || exit
export GIT_INDEX_FILE="$t/index"
export GIT_OBJECT_DIRECTORY="$t/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
{ cp -p "$index" "$t/index" 2>/dev/null || git read-tree "$tree"; } || exit
# 1: a path cannot be read, or a repository in it has no commit.
git add --all --ignore-errors -- . || [ $? = 1 ] || exit
[ -z "$index" ] || own_files
git -c core.quotePath=false diff --cached --binary --no-ext-diff --no-textconv -M "$tree" -- .`;

const REPOSITORIES = `
for d in "$1"/*/ "$1"/.[!.]*/; do
  if [ -e "$d/.git" ] && [ ! -L "\${d%/}" ]; then printf '%s\\0' "$d"; fi
done`;

/** Changed and new files of `folder`, or of the repositories directly below it. */
export async function gitChanges(
  sandbox: Sandbox,
  folder: string,
  ref: string | null,
): Promise<GitChange[]> {
  const root = sandbox.inWorkspace((await sandbox.folders()).workingDir, folder);
  let changes = await changesOf(sandbox, root, ref);
  if (changes === null) {
    changes = [];
    for (const below of (await script(sandbox, REPOSITORIES, [root])).stdout.split('\0')) {
      if (below !== '')
        changes.push(...prefixed(await changesOf(sandbox, below, ref), path.basename(below)));
    }
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function changesOf(
  sandbox: Sandbox,
  repository: string,
  ref: string | null,
  target = repository,
): Promise<GitChange[] | null> {
  const { exitCode, stdout } = await script(sandbox, CHANGES, [repository, ref ?? ''], target);
  if (exitCode === NO_REPOSITORY) return null;
  const fields = stdout.split('\0');
  const end = fields.indexOf('');
  const changes: GitChange[] = [];
  for (let index = 0; index < end; index += 2) {
    const status = { A: 'ADDED', D: 'DELETED' }[fields[index] ?? ''] ?? 'UPDATED';
    changes.push({ status: status as GitChange['status'], path: fields[index + 1] ?? '' });
  }
  for (const file of fields.slice(end + 1).filter((name) => name !== '')) {
    if (!file.endsWith('/')) changes.push({ status: 'ADDED', path: file });
    else
      changes.push(
        ...prefixed(
          await changesOf(sandbox, path.join(repository, file), ref, '/'),
          file.slice(0, -1),
        ),
      );
  }
  return changes;
}

function prefixed(changes: GitChange[] | null, folder: string): GitChange[] {
  return (changes ?? []).map((change) => ({ ...change, path: `${folder}/${change.path}` }));
}

/** The texts without their last line end, as on genuine servers; null: not in a repository. */
export async function gitDiff(
  sandbox: Sandbox,
  file: string,
  ref: string | null,
): Promise<{ original: string | null; modified: string | null }> {
  const absolute = sandbox.inWorkspace((await sandbox.folders()).workingDir, file);
  const modified = await sandbox
    .readFile(absolute, LARGEST_DIFFED_FILE)
    .catch(onRefusal('not-found', () => null));
  const nearest =
    'd=$1; while [ ! -d "$d" ]; do d=$(dirname "$d"); done; set -- "$d" "$2" "${3#"${d%/}"/}"';
  const args: [string, string, string] = [path.dirname(absolute), ref ?? '', absolute];
  const { exitCode, stdout } = await script(sandbox, `${nearest}\n${BLOB}`, args, absolute);
  const original = stdout === '' ? null : stdout.slice(1);
  if (modified === null && original === null) {
    throw new IsolationError('invalid', `File does not exist: ${absolute}`);
  }
  if (exitCode === NO_REPOSITORY) return { modified: null, original: null };
  const shown = (text: string): string => text.replace(/\r?\n$/, '');
  return { modified: shown(modified?.toString('utf8') ?? ''), original: shown(original ?? '') };
}

/** One patch of what gitChanges lists, with binary files and modes. Throws IsolationError. */
export async function gitDelta(
  sandbox: Sandbox,
  folder: string,
  ref: string | null,
): Promise<string> {
  const { workingDir, scratch } = await sandbox.folders();
  const root = sandbox.inWorkspace(workingDir, folder);
  const { exitCode, stdout } = await script(sandbox, DELTA, [root, ref ?? '', scratch]);
  if (exitCode === NO_REPOSITORY)
    throw new IsolationError('invalid', `Not a git repository: ${root}`);
  return stdout;
}

/** `target`: its first folder in the workspace may be a clone, of whose commit there is a copy. */
async function script(
  sandbox: Sandbox,
  text: string,
  args: [string, ...string[]],
  target = args[0],
): Promise<{ exitCode: number; stdout: string }> {
  const { workingDir, bases, scratch } = await sandbox.folders();
  const [name = '', ...rest] = path.relative(workingDir, target).split('/');
  const kept = { KEPT: `${bases}/${name}.git`, TOP: `${workingDir}/${name}`, REST: rest.join('/') };
  const output: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let size = 0;
  const tooLarge = new AbortController();
  const { exitCode, killed } = await sandbox.run(
    {
      argv: ['/bin/sh', '-c', text, 'sh', ...args],
      cwd: '/',
      env: { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', NONE: `${scratch}/none`, ...kept },
      until: 'closed',
    },
    {
      signal: tooLarge.signal,
      onOutput: (stream, data) => {
        size += data.length;
        if (size > LARGEST_ANSWER) tooLarge.abort();
        else output[stream].push(data);
      },
    },
  );
  if (killed)
    throw new IsolationError('invalid', 'git: the answer is too large, or takes too long');
  if (exitCode === UNKNOWN_REF)
    throw new IsolationError('invalid', `Unknown ref: ${args[1] ?? ''}`);
  if (exitCode !== 0 && exitCode !== NO_REPOSITORY) {
    throw new IsolationError(
      'invalid',
      `git: ${cut(Buffer.concat(output.stderr).toString('utf8').trim(), 500)}`,
    );
  }
  return { exitCode, stdout: Buffer.concat(output.stdout).toString('utf8') };
}
