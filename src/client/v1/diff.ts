import { AppError, isOfKind, nullIf } from '../../base/errors.ts';
import type { FileLines } from '../../domain/patch.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { BASE_REF } from '../agent-server/changes.ts';
import type { AgentClient } from '../agent-server/client.ts';
import {
  BRIEF_SECONDS,
  COMPARE,
  DIFF_TIMEOUT_SECONDS,
  FIRST,
  NO_PROGRAMS,
  readFileLines,
  readGitDiff,
} from '../agent-server/git-diff.ts';
import type { Links } from '../shared/links.ts';
import type { DiffOptions, IdOrRecord, WorkspaceDiff } from '../shared/server.ts';
import { lostClone, notCloned } from '../shared/start-errors.ts';
import { parseTime } from '../../base/text/time.ts';
import { diffFromFiles } from '../shared/diff-from-files.ts';
import { runningAgentOf } from './agent.ts';
import { enterClone, repositoryName } from './quirks/repository-folder.ts';
import { conversationRecord, getConversation } from './calls.ts';

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
  const against = `against=${options.against ?? 'start'}`;
  const byGit = await gitDiff(agent, scriptOf(record, conversation, against));
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

export async function changedFilesV1(links: Links, of: IdOrRecord): Promise<FileLines[]> {
  const record = await conversationRecord(links, of);
  const agent = runningAgentOf(links, record);
  const script = scriptOf(record, await agent.conversation(), 'brief=yes');
  return readFileLines(await agent.inspectShortly(script, BRIEF_SECONDS));
}

export async function folderV1(links: Links, id: string): Promise<string> {
  const record = await getConversation(links, id);
  const agent = runningAgentOf(links, record);
  const enter = enterClone(await agent.conversation(), record.selected_repository);
  const enterKept = '[ ! -d "$kept" ] || cd "$dir" || exit';
  const script = `${enter}\n${enterKept}\nprintf '%s' "$PWD"`;
  const { exitCode, stdout } = await agent.inspectShortly(script, BRIEF_SECONDS);
  if (exitCode === 0) return stdout;
  const sandbox = record.sandbox_id ?? 'acs sandbox list';
  throw new AppError('not-found', 'the folder of this conversation is gone from its sandbox', {
    hint: `name the sandbox in place of the conversation: ${sandbox}`,
  });
}

function scriptOf(
  { selected_repository: repository, created_at }: AppConversationRecord,
  conversation: AgentConversationRecord,
  option: string,
): string {
  const startedMs = parseTime(created_at);
  return [
    FIRST,
    enterClone(conversation, repository),
    repository === null ? '' : '[ -d "$kept" ] || is_top . || no_clone',
    `is_clone=${repository === null ? '' : 'yes'}`,
    `started=${startedMs === null ? '' : Math.floor(startedMs / 1000)}`,
    option,
    ENTER,
    COMPARE,
  ].join('\n');
}

async function gitDiff(agent: AgentClient, script: string): Promise<WorkspaceDiff | null> {
  const run = (command: string) => agent.inspect(command, DIFF_TIMEOUT_SECONDS);
  const result = await run(script).catch(nullIf(isOfKind('not-found', 'unsupported')));
  if (result === null || [127, NO_PROGRAMS].includes(result.exitCode)) return null;
  if (result.exitCode === 41)
    throw notCloned('the repository of the conversation', agent.conversationId);
  if (result.exitCode === 45) throw lostClone(agent.conversationId);
  return await readGitDiff(result, run);
}

/** The base is the last step of the set-up in the history of HEAD. */
const ENTER = `
if [ -d "$kept" ]; then
  cd "$dir" 2>/dev/null || { mkdir "$t/none" && cd "$t/none"; } || exit 1
  export GIT_DIR="$kept" GIT_WORK_TREE="$(pwd)"
  objects=$kept/objects
  base=$(git rev-parse --verify --quiet HEAD)
elif ! is_top .; then
  no_repository
else
  find_objects
  base=$(git rev-parse -q --verify ${BASE_REF}) ||
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
`;
