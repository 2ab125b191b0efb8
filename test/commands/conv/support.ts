/** Conversations for these tests: recorded runs that end when a test releases them, and repositories to start them on. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../support/until.ts';
import type { Ended, World } from '../../support/world.ts';

export { until };

export interface ConversationJson {
  id: string;
  start_task_id: string | null;
  title: string | null;
  status: string;
  reason: { code: string; text: string } | null;
  repository: string | null;
  branch: string | null;
  sandbox_id: string | null;
  dialect: string;
  changed?: boolean;
  outcome?: OutcomeJson;
  error?: { code: string; message: string };
}

export interface OutcomeJson {
  type: 'outcome';
  conversation_id: string;
  status: string;
  reason: { code: string; text: string } | null;
  exit_code: number;
  last_event_id: string | null;
}

export function json<T = ConversationJson>({ out }: Pick<Ended, 'out'>): T {
  return JSON.parse(out) as T;
}

export function jsonLines<T = Record<string, unknown>>(out: string): T[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The error of a command with --json: its last line on stderr. */
export function errorOf({
  err,
}: Pick<Ended, 'err'>): { code: string; message: string; hint: string | null } & Record<string, unknown> {
  const last = jsonLines<{ error: never }>(err).at(-1);
  if (!last?.error) throw new Error(`no error on stderr: ${err}`);
  return last.error;
}

export async function git(cwd: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'init.defaultBranch=main'];
  const { stdout } = await promisify(execFile)('git', [...identity, ...args], { cwd, env });
  return stdout.trim();
}

/** A checkout with one commit on `main`. */
export async function makeRepository(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  await git(dir, 'init', '-q');
  await writeFile(path.join(dir, 'README.md'), 'hello\n');
  await git(dir, 'add', '.');
  await git(dir, 'commit', '-q', '-m', 'first');
  return dir;
}

/** Writes a V0 trajectory and gives its path. */
export async function replayFile(world: World, name: string, actions: Record<string, unknown>[]): Promise<string> {
  const file = path.join(world.dir, name);
  await writeFile(file, JSON.stringify(actions));
  return file;
}

export const run = (command: string) => ({ action: 'run', args: { command } });
export const finish = (text: string) => ({ action: 'finish', args: { final_thought: text } });

export interface HeldRun {
  id: string;
  /** Ends the run. */
  release(): Promise<void>;
}

/** A run that continues until it is released. Needs a world without isolation, where it can see the test's folder. */
export async function startHeldRun(world: World, ...flags: string[]): Promise<HeldRun> {
  const flag = path.join(world.dir, `go-${Math.random().toString(36).slice(2)}`);
  const file = await replayFile(world, `${path.basename(flag)}.json`, [
    run(`while [ ! -e ${flag} ]; do sleep 0.05; done`),
    finish('done'),
  ]);
  const started = await world.acs('conv', 'new', '--no-repo', '--replay', file, '--json', ...flags);
  if (started.code !== 0) throw new Error(`conv new ended with ${started.code}: ${started.err}`);
  const { id } = json(started);
  await until(async () => json(await world.acs('conv', 'show', id, '--json')).status === 'running');
  return { id, release: () => writeFile(flag, '') };
}

/** Starts a run, without a repository unless `--repo` names one, and waits for its end; its id. */
export async function endedRun(world: World, ...flags: string[]): Promise<string> {
  const repository = flags.includes('--repo') ? [] : ['--no-repo'];
  const ended = await world.acs('conv', 'new', ...repository, '--replay', 'demo', '--wait', '--json', ...flags);
  if (ended.code !== 0) throw new Error(`conv new ended with ${ended.code}: ${ended.err}`);
  return json(ended).id;
}
