/**
 * The difference of a workspace against the commit the run started from, taken by git in the sandbox: untracked files
 * through a temporary index, new objects in a temporary store, so that nothing of the workspace changes.
 */
import { AppError, isAppError } from '../../errors.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import type { DiffOptions, FileChange, WorkspaceDiff } from '../server.ts';
import { startedAtMs } from '../quirks/reset-created-at.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { repositoryName } from '../repository-name.ts';
import { diffFromFiles } from '../diff-from-files.ts';
import { runningAgentOf } from './agent.ts';
import { enterRepository } from '../quirks/repository-folder.ts';
import { DIFF_SECTIONS, type DiffSection, diffScript, PIECE_BYTES } from './diff-script.ts';
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
  if (result.exitCode === 127 || result.exitCode === 44) return null;
  const answer = result.exitCode === 0 ? sectionsOf(await wholeAnswer(agent, workingDir, result.stdout)) : null;
  if (answer === null) {
    const text = result.stderr.trim().slice(0, 500);
    throw new AppError('server', `git in the sandbox did not give a difference${text === '' ? '' : `: ${text}`}`);
  }
  const textOf = (section: keyof typeof answer) => new TextDecoder().decode(decodeBase64(answer[section]));
  const omissions = [
    ...notAdded(textOf('ERRORS')),
    ...pathsOf(textOf('NESTED')).map(
      (path) => `${path}: it is a repository of its own, and its files are not compared`,
    ),
    ...pathsOf(textOf('SUBMODULES')).map(
      (path) => `${path}: a submodule with uncommitted changes, which are not compared`,
    ),
  ];
  return {
    base: /^[0-9a-f]+$/.exec(answer.BASE.trim())?.[0] ?? null,
    patch: decodeBase64(answer.PATCH),
    changes: parseNameStatus(textOf('NAMES')),
    omissions,
  };
}

/** Of the text that the script prints; it is held in memory. */
const MOST_BYTES = 320 * 1024 * 1024;

/**
 * What the script prints: a long answer is in a file of the sandbox, which is read in pieces. The command of the last
 * piece removes it; where a reading was ended before, a later script does.
 */
async function wholeAnswer(agent: AgentClient, workingDir: string, stdout: string): Promise<string> {
  const long = /^ACS-LONG (\d+) (\/[^\n]+)\n$/.exec(stdout);
  if (long === null) return stdout;
  const [, digits, file = ''] = long;
  const bytes = Number(digits);
  if (bytes > MOST_BYTES) {
    throw new AppError('conflict', `the changes are too large for a patch: more than ${MOST_BYTES / 1024 / 1024} MiB`, {
      hint: 'copy the files out of the sandbox: acs sandbox cp <id>:<path> .',
    });
  }
  const pieces: string[] = [];
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) {
    const print = `tail -c +${offset + 1} ${shellQuote(file)} | head -c ${PIECE_BYTES}`;
    const remove = offset + PIECE_BYTES < bytes ? '' : `; rm -f ${shellQuote(file)}`;
    const piece = await agent.inspect(`${print}${remove}`, workingDir, DIFF_TIMEOUT_SECONDS);
    pieces.push(piece.stdout);
  }
  return pieces.join('');
}

/** The text after each mark; null when the answer is not complete. No mark is in base64. */
function sectionsOf(answer: string): Record<DiffSection, string> | null {
  const marks = [...DIFF_SECTIONS, 'END'].map((name) => answer.indexOf(`ACS-${name}`));
  if (marks.includes(-1)) return null;
  const textOf = (name: string, index: number) =>
    answer.slice((marks[index] ?? 0) + `ACS-${name}`.length, marks[index + 1]);
  return Object.fromEntries(DIFF_SECTIONS.map((name, index) => [name, textOf(name, index)])) as Record<
    DiffSection,
    string
  >;
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
