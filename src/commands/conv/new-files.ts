/** What `conv new` reads from files and the environment. Everything is checked before any request. */
import type { Context } from '../../context.ts';
import { checkMcpConfig } from '../../domain/mcp-config.ts';
import type { SuggestedTask } from '../../domain/git-provider.ts';
import type { CreateMicroagent } from '../../domain/new-conversation.ts';
import type { JsonValue, McpConfig } from '../../domain/settings.ts';
import { checkStartMembers, type StartMembers } from '../../domain/start-members.ts';
import { AppError, isAppError } from '../../errors.ts';
import { readTextFile } from './message.ts';
import { placeInJson } from '../../text/json-place.ts';

const REPLAY_MAX_BYTES = 64 * 1024 * 1024;
const TASK_TYPES = [
  'MERGE_CONFLICTS',
  'FAILING_CHECKS',
  'UNRESOLVED_COMMENTS',
  'OPEN_ISSUE',
  'OPEN_PR',
  'CREATE_MICROAGENT',
];

/** The word of the local service for the trajectory it has built in. */
export const DEMO = 'demo';

/** The text of a trajectory: JSON, or one JSON value a line. What its steps are is the server's to check. */
export async function readReplay(ctx: Context, given: string): Promise<string> {
  if (given === DEMO) return DEMO;
  const text = await readTextFile(ctx, given, REPLAY_MAX_BYTES);
  const problem = jsonProblem(text);
  if (problem === null) return text;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length > 1 && lines.every((line) => jsonProblem(line) === null)) return text;
  throw malformed('--replay', given, problem);
}

export async function readMcpConfig(ctx: Context, file: string): Promise<McpConfig> {
  const value = await readJson(ctx, '--mcp-config', file);
  const problem = checkMcpConfig(value);
  if (problem !== null) throw new AppError('usage', `--mcp-config: ${file} ${problem}`);
  const config = value as McpConfig;
  for (const { api_key: key } of [...(config.sse_servers ?? []), ...(config.shttp_servers ?? [])])
    if (key) ctx.keepSecret(key);
  for (const { env } of config.stdio_servers ?? []) Object.values(env ?? {}).forEach((secret) => keep(ctx, secret));
  return config;
}

/** A task that the server suggests, by its name. */
export interface TaskName {
  repo: string;
  issue_number: number;
  /** Null: of any provider. */
  git_provider: string | null;
}

/** `owner/name#12`, or a file with the five members (interface 3.1). */
export async function readSuggestedTask(
  ctx: Context,
  given: string,
  gitProvider: string | undefined,
): Promise<SuggestedTask | TaskName> {
  const short = /^([\w.-]+(?:\/[\w.-]+)+)#(\d{1,15})$/.exec(given);
  if (short === null) {
    const value = await readJson(ctx, '--suggested-task', given).catch((error: unknown) => {
      throw withBothForms(error);
    });
    return asSuggestedTask(value, given);
  }
  const [, repo = '', number = ''] = short;
  if (Number(number) === 0) throw new AppError('usage', `--suggested-task: ${given}: numbers of issues begin at 1`);
  return { repo, issue_number: Number(number), git_provider: gitProvider ?? null };
}

/** A value that lacks its number is read as a path. */
function withBothForms(error: unknown): unknown {
  if (!isAppError(error) || error.kind !== 'config') return error;
  const hint = 'give owner/name#<number>, as acs repo tasks lists it, or the path of a file';
  return new AppError(error.kind, error.message, { ...error.details, hint });
}

function asSuggestedTask(value: JsonValue, file: string): SuggestedTask {
  const task = asObject(value, '--suggested-task', file);
  const { git_provider, task_type, repo, issue_number, title } = task;
  const wrong = (member: string, what: string) =>
    new AppError('usage', `--suggested-task: ${member} of ${file} must be ${what}`);
  if (typeof git_provider !== 'string') throw wrong('git_provider', 'a text');
  if (typeof task_type !== 'string' || !TASK_TYPES.includes(task_type))
    throw wrong('task_type', `one of ${TASK_TYPES.join(', ')}`);
  if (typeof repo !== 'string' || repo === '') throw wrong('repo', 'owner/name');
  if (typeof issue_number !== 'number' || !Number.isSafeInteger(issue_number))
    throw wrong('issue_number', 'a whole number');
  if (typeof title !== 'string') throw wrong('title', 'a text');
  refuseOthers(task, ['git_provider', 'task_type', 'repo', 'issue_number', 'title'], '--suggested-task', file);
  return { git_provider, task_type, repo, issue_number, title };
}

export async function readMicroagent(ctx: Context, file: string): Promise<CreateMicroagent> {
  const value = asObject(await readJson(ctx, '--microagent', file), '--microagent', file);
  const { repo, git_provider = null, title = null } = value;
  const wrong = (member: string, what: string) =>
    new AppError('usage', `--microagent: ${member} of ${file} must be ${what}`);
  if (typeof repo !== 'string' || repo === '') throw wrong('repo', 'owner/name');
  if (git_provider !== null && typeof git_provider !== 'string') throw wrong('git_provider', 'a text');
  if (title !== null && typeof title !== 'string') throw wrong('title', 'a text');
  refuseOthers(value, ['repo', 'git_provider', 'title'], '--microagent', file);
  return { repo, git_provider, title };
}

/** Members of a V1 start that have no flag. */
export async function readMembers(ctx: Context, file: string): Promise<StartMembers> {
  const value = await readJson(ctx, '--members', file);
  const problem = checkStartMembers(value);
  if (problem !== null) throw new AppError('usage', `--members: ${file} ${problem}`, { hint: 'nothing was started' });
  return value as StartMembers;
}

/** Values of environment variables by name; they never appear in any output. */
export function readSecrets(ctx: Context, names: readonly string[]): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const name of names) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new AppError('usage', '--secret takes the name of an environment variable, and nothing else', {
        hint: 'export NAME first, then --secret NAME: no value belongs on a command line',
      });
    }
    const value = ctx.env[name];
    if (value === undefined || value === '') {
      throw new AppError('usage', `--secret ${name}: the environment has no ${name}`, {
        hint: `export ${name}=… first`,
      });
    }
    keep(ctx, value);
    secrets[name] = value;
  }
  return secrets;
}

function keep(ctx: Context, secret: string): void {
  if (secret !== '') ctx.keepSecret(secret);
}

async function readJson(ctx: Context, flag: string, file: string): Promise<JsonValue> {
  const text = await readTextFile(ctx, file);
  const problem = jsonProblem(text);
  if (problem !== null) throw malformed(flag, file, problem);
  return JSON.parse(text) as JsonValue;
}

/** Why a text is not JSON; null when it is. The message of Node quotes the text, which may hold a secret. */
function jsonProblem(text: string): string | null {
  if (text.trim() === '') return 'it is empty';
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return placeInJson(text, (error as Error).message) ?? 'it ends too early or has a stray character';
  }
}

function malformed(flag: string, file: string, problem: string): AppError {
  return new AppError('usage', `${flag}: ${file} is not JSON: ${problem}`, { hint: 'nothing was started' });
}

function asObject(value: JsonValue, flag: string, file: string): { [name: string]: JsonValue } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new AppError('usage', `${flag}: ${file} must hold one JSON object`);
}

function refuseOthers(value: object, known: readonly string[], flag: string, file: string): void {
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new AppError('usage', `${flag}: ${file} has "${other}", and only ${known.join(', ')} are known`);
}
