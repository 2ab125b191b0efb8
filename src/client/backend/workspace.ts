/** The folder of a conversation, prepared by a command on the machine of the server. */
import { AppError, isFailure, isOfKind, type ErrorKind } from '../../base/errors.ts';
import { GIT_IN_SHELL } from '../../base/git-config.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { shortened } from '../../base/text/well-formed.ts';
import { dashedId } from '../../domain/ids.ts';
import type {
  CheckoutChanges,
  CheckoutProof,
  NewConversation,
  Workspace,
} from '../../domain/new-conversation.ts';
import { timeLimit } from '../../runs/deadline.ts';
import { BASE_REF, carryChanges } from '../agent-server/changes.ts';
import { runCommand, runShortCommand, type CommandResult } from '../agent-server/shell-command.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import type { Links } from '../shared/links.ts';

export interface PreparedWorkspace {
  working_dir: string;
  /** The commit that the run starts from; null without a repository. */
  base: string | null;
  /** Null without a repository, and with a detached HEAD. */
  branch: string | null;
  /** The checkout that the folder is a worktree of. */
  checkout: string | null;
}

const CLONE_SECONDS = 1_800;
const REMOVAL_MS = 5_000;
/** Exit codes of the scripts. */
const KINDS: Record<number, ErrorKind> = { 105: 'not-found', 106: 'conflict', 112: 'unsupported' };

/** Throws `not-found` for a folder, a repository or a branch that the server does not have. */
export async function prepareWorkspace(
  links: Links,
  id: string,
  workspace: Workspace,
  { branch, changes = null }: Pick<NewConversation, 'branch' | 'changes'>,
): Promise<PreparedWorkspace> {
  // Its commits are there with any branch.
  const cloned = changes === null ? branch : null;
  const run = (script: string, how: typeof runShort = runShort) =>
    prepare(links, id, workspace, how(links, script));
  if (workspace.kind === 'folder') return prepared(await run(folderScript(workspace)));
  if (workspace.kind === 'fresh') return prepared(await run(freshScript(id)));
  if (workspace.kind === 'clone')
    return prepared(await run(cloneScript(id, workspace.url, cloned), runLong));
  const { root, url, unpushed } = workspace;
  const proof = links.mode === 'dry-run' ? NO_PROOF : await workspace.prove();
  if (proof.file !== null) {
    const script = worktreeScript(id, workspace, { ...proof, file: proof.file }, changes);
    const result = await run(script).finally(() => proof.remove());
    if (result.stdout !== ELSEWHERE) {
      const worktree = prepared(result);
      links.notice(`works in a worktree of the checkout: ${worktree.working_dir}`);
      return { ...worktree, branch, checkout: root };
    }
  }
  const why = proof.problem ?? `the server does not see ${root}`;
  if (url === null)
    throw new AppError('usage', `${why}, and the checkout has no remote "origin" to clone`, {
      hint: 'give --repo <url>, --workspace <path>, or --no-repo',
    });
  const missing = unpushed === 1 ? '1 unpushed commit' : `${unpushed} unpushed commits`;
  const isMissed = unpushed > 0 && changes === null;
  links.notice(`${why}: it clones ${url}${isMissed ? `, without ${missing}` : ''}`);
  return prepared(await run(cloneScript(id, url, cloned), runLong));
}

/** Leaves nothing behind of a command that was interrupted, or ended at its time limit. */
async function prepare(
  links: Links,
  id: string,
  workspace: Workspace,
  running: Promise<CommandResult>,
): Promise<CommandResult> {
  let result: CommandResult | null = null;
  try {
    result = await running;
    return result;
  } catch (error) {
    throw isOfKind('unknown-outcome', 'not-found')(error) ? unprepared(error) : error;
  } finally {
    const isOwnEnd = result !== null && (result.exitCode === 0 || result.exitCode in KINDS);
    if (!isOwnEnd && links.mode === 'live') await removeWorkspace(links, id, workspace);
  }
}

/** Removes what was prepared for a start that the server has not taken. */
export async function removeWorkspace(
  links: Links,
  id: string,
  workspace: Workspace,
): Promise<void> {
  if (workspace.kind === 'folder') return;
  const isWorktree = workspace.kind === 'checkout';
  const limit = timeLimit(links, REMOVAL_MS, new AppError('timeout', 'no answer in time'));
  try {
    const script = removalScript(id, isWorktree ? workspace : null);
    await runShort({ ...links, app: links.appUntil(limit.signal) }, script);
  } catch (error) {
    if (!isFailure(error)) throw error;
    const remains = isWorktree ? `, and the branch ${branchOf(id)}` : '';
    links.notice(
      `warning: what was prepared may remain on the server: ${dashedId(id)} in ` +
        `${isWorktree ? WORKTREES : CLONES}${remains}`,
    );
  } finally {
    limit.clear();
  }
}

const NO_PROOF: CheckoutProof = {
  file: '',
  text: '',
  problem: null,
  remove: () => Promise.resolve(),
};
const ELSEWHERE = 'ACS-ELSEWHERE\n';

async function runShort(links: Links, command: string): Promise<CommandResult> {
  const timeoutSeconds = LIMITS_MS.step / 1000;
  return await runShortCommand(links.app, { command, timeoutSeconds, safe: 'once' });
}

/** A clone takes longer than a request may. */
async function runLong(links: Links, command: string): Promise<CommandResult> {
  const options = { cwd: null, timeoutSeconds: CLONE_SECONDS, safe: 'once' } as const;
  return await runCommand(links, links.app, { command, ...options });
}

/** Into a clone, or an empty repository; a worktree has them already. */
export async function withChanges(
  links: Links,
  place: PreparedWorkspace,
  changes: CheckoutChanges | null | undefined,
): Promise<PreparedWorkspace> {
  if (changes == null || place.checkout !== null) return place;
  const enter = `${GIT_IN_SHELL}\ncd ${shellQuote(place.working_dir)} || exit 1`;
  await carryChanges(links, links.app, enter, changes).catch((error: unknown) => {
    throw isOfKind('unknown-outcome', 'not-found')(error) ? unprepared(error) : error;
  });
  return { ...place, base: changes.commit, branch: changes.branch };
}

/** Of a lost answer nothing else is unknown: no conversation was requested yet. */
function unprepared(error: AppError): AppError {
  if (error.kind === 'not-found')
    return new AppError('unsupported', 'this server runs no commands, which a start needs', {
      cause: error,
    });
  const text = 'no answer came while the workspace was prepared; nothing was started';
  return new AppError('network', text, { retryable: true, cause: error });
}

const DONE = /^ACS-DIR\n([^]+)\nACS-AT ([0-9a-f]*) (.*)\n$/m;

function prepared({ exitCode, stdout, stderr }: CommandResult): PreparedWorkspace {
  const [, working_dir, base = '', branch = ''] = DONE.exec(stdout) ?? [];
  if (exitCode === 0 && working_dir !== undefined)
    return { working_dir, base: base || null, branch: branch || null, checkout: null };
  const lines = stderr.trim().split('\n');
  const line = lines.find((each) => /^(fatal|error):/.test(each)) ?? lines.at(-1) ?? '';
  const reason = shortened(line.replace(/^(fatal|error): /, ''), 500);
  const text = reason || `the command exited with ${exitCode}`;
  throw new AppError(
    KINDS[exitCode] ?? 'server',
    `the workspace could not be prepared, and nothing was started: ${text}`,
  );
}

type CheckoutWorkspace = Workspace & { kind: 'checkout' };

/**
 * Kept over a restart of the machine. A server removes worktrees below its own folder along with
 * the conversation, and what was not merged with them (1.58.2).
 */
const WORKTREES = '${HOME:?}/.openhands/worktrees';
const CLONES = '${HOME:?}/.openhands/workspaces';

const HEAD = `fail() { printf '%s\n' "$2" >&2; exit "$1"; }
needs_git() { command -v git >/dev/null || fail 112 'git is not installed on the server'; }
begin() {
  [ ! -e "$w" ] || fail 106 "$w exists already"
  mkdir -p -- "$w" && echo $$ >"$w/.acs-pid" || fail 106 "cannot write $w"
}
at() { rm -f -- "$w/.acs-pid"; printf 'ACS-DIR\n%s\nACS-AT %s %s\n' "$1" "$2" "$3"; }
`;
const AT_HEAD = `at "$d" "$(git -C "$d" rev-parse -q --verify HEAD 2>/dev/null)" \
"$(git -C "$d" symbolic-ref -q --short HEAD 2>/dev/null)"
`;

function branchOf(id: string): string {
  return `openhands/${dashedId(id)}`;
}

function lastPart(path: string): string {
  return /([^/:]+?)(\.git)?\/*$/.exec(path)?.[1] ?? 'project';
}

function folderScript({ path }: { path: string }): string {
  return `${HEAD}w=/dev/null d=${shellQuote(path)}
[ -d "$d" ] || fail 105 "the server has no folder $d"
${AT_HEAD}`;
}

function freshScript(id: string): string {
  return `${HEAD}w=${CLONES}/${dashedId(id)}
begin
mkdir -- "$w/project" || fail 106 "cannot write $w"
# Else the folder would be a part of a repository that the home of the server may be.
! command -v git >/dev/null || git init -q "$w/project"
at "$w/project"
`;
}

function cloneScript(id: string, url: string, branch: string | null): string {
  const from = branch === null ? '' : `--branch=${shellQuote(branch)} `;
  return `${HEAD}w=${CLONES}/${dashedId(id)}
needs_git
begin
d=$w/${shellQuote(lastPart(url))}
GIT_TERMINAL_PROMPT=0 git clone -q ${from}-- ${shellQuote(url)} "$d" </dev/null ||
  { rm -rf -- "$w"; exit 105; }
${AT_HEAD}`;
}

/** A failed hook after the checkout would fail the command. */
function worktreeScript(
  id: string,
  { root, commit }: CheckoutWorkspace,
  { file, text }: { file: string; text: string },
  changes: CheckoutChanges | null,
): string {
  const branch = branchOf(id);
  const base = changes?.commit ?? commit;
  const commands = [`update-ref ${BASE_REF} ${base}`, `read-tree --reset -u ${base}`, 'reset -q'];
  const taking = commands.map((command) => ` &&\n  git -C "$d" ${command}`).join('');
  const files = changes === null ? '' : taking;
  return `${HEAD}r=${shellQuote(root)}
[ "$(cat -- ${shellQuote(file)} 2>/dev/null)" = ${shellQuote(text)} ] && [ -d "$r" ] ||
  { echo ACS-ELSEWHERE; exit 0; }
needs_git
w=${WORKTREES}/${dashedId(id)}
! git -C "$r" show-ref -q --verify refs/heads/${branch} ||
  fail 106 'the branch ${branch} exists already'
begin
d=$w/${shellQuote(lastPart(root))}
git() { command git -c core.hooksPath=/dev/null "$@"; }
git -C "$r" worktree add -q -b ${branch} -- "$d" ${commit} </dev/null${files} || {
  git -C "$r" worktree remove -f -f -- "$d" 2>/dev/null
  rm -rf -- "$w"
  git -C "$r" branch -q -D ${branch} 2>/dev/null
  exit 106
}
at "$d" ${base}
`;
}

/** The process group is that of a command that may still run. */
function removalScript(id: string, checkout: CheckoutWorkspace | null): string {
  const worktrees = `${WORKTREES}/${dashedId(id)}`;
  const remove = `p=$(cat -- "$w/.acs-pid") && kill -- "-$p" && n=0 &&
  while kill -0 -- "-$p" && [ $n -lt 30 ]; do sleep 0.1; n=$((n+1)); done
`;
  if (checkout === null)
    return `{ w=${CLONES}/${dashedId(id)}
${remove}rm -rf -- "$w"; } 2>/dev/null
`;
  return `{ r=${shellQuote(checkout.root)} w=${worktrees}
${remove}git -C "$r" worktree remove -f -f -- "$w"/${shellQuote(lastPart(checkout.root))}
git -C "$r" branch -q -D ${branchOf(id)}
rm -rf -- "$w" ${CLONES}/${dashedId(id)}; } 2>/dev/null
`;
}
