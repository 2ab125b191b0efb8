/**
 * Conversations of the local service for these tests: runs that have ended, that a test releases,
 * or that wait for it.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify, stripVTControlCharacters } from 'node:util';
import { beforeAll, expect } from 'vitest';
import { createContext } from '../../../src/cli/create-context.ts';
import { run as runLine } from '../../../src/cli/run.ts';
import type { Prompt } from '../../../src/terminal/prompt.ts';
import { Screen } from '../../support/terminal.ts';
import { until } from '../../support/test-clock.ts';
import { errorOf, useWorld, type Suite, type SuiteOptions } from '../../support/use-world.ts';
import { platformOf, type Ended, type World } from '../../support/world.ts';

export { errorOf, until };

/** What the helpers need of a world or a suite. */
type At = Pick<World, 'acs' | 'dir' | 'sandbox'>;

/** The world, where each run that helpers start has a sandbox of its own. */
export function alone(world: World): World {
  return { ...world, sandbox: undefined };
}

const placed = ({ sandbox }: At) => (sandbox === undefined ? [] : ['--sandbox', sandbox]);

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

export async function git(cwd: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const identity = [
    '-c',
    'user.name=Test',
    '-c',
    'user.email=test@example.com',
    '-c',
    'init.defaultBranch=main',
  ];
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

/** One with the same files, and without the commit that another one made in the same second has. */
export async function makeUnrelated(dir: string): Promise<string> {
  await makeRepository(dir);
  await git(dir, 'commit', '-q', '--amend', '-m', 'another first');
  await git(dir, 'reflog', 'expire', '--expire=now', '--all');
  await git(dir, 'prune', '--expire=now');
  return dir;
}

/** Writes a V0 trajectory and gives its path. */
export async function replayFile(
  world: Pick<World, 'dir'>,
  name: string,
  actions: Record<string, unknown>[],
): Promise<string> {
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

/**
 * A run that continues until it is released. Needs a world without isolation, where it can see the
 * test's folder.
 */
export async function startHeldRun(world: At, ...flags: string[]): Promise<HeldRun> {
  const flag = path.join(world.dir, `go-${Math.random().toString(36).slice(2)}`);
  const file = await replayFile(world, `${path.basename(flag)}.json`, [
    run(`while [ ! -e ${flag} ]; do sleep 0.05; done`),
    finish('done'),
  ]);
  const words = ['conv', 'new', '--no-repo', '--replay', file, '--json', ...placed(world)];
  const started = await world.acs(...words, ...flags);
  if (started.code !== 0) throw new Error(`conv new ended with ${started.code}: ${started.err}`);
  const { id } = json(started);
  await until(async () => json(await world.acs('conv', 'show', id, '--json')).status === 'running');
  return { id, release: () => writeFile(flag, '') };
}

/** Starts a run, without a repository unless `--repo` names one, and waits for its end; its id. */
export async function endedRun(world: At, ...flags: string[]): Promise<string> {
  const repository = flags.includes('--repo') ? [] : ['--no-repo'];
  const ended = await world.acs(
    'conv',
    'new',
    ...repository,
    '--replay',
    'demo',
    '--wait',
    '--json',
    ...(flags.includes('--sandbox') ? [] : placed(world)),
    ...flags,
  );
  if (ended.code !== 0) throw new Error(`conv new ended with ${ended.code}: ${ended.err}`);
  return json(ended).id;
}

export interface WaitingRun {
  id: string;
  /** Whether the nth command was carried out. */
  did(command: number): boolean;
}

/**
 * A run of so many commands, each of which leaves a file behind; it waits for a confirmation at the
 * first one.
 * @param until a file: each command ends when it exists
 */
export async function startWaitingRun(
  world: At,
  commands = 1,
  until?: string,
): Promise<WaitingRun> {
  const mark = path.join(world.dir, `did-${Math.random().toString(36).slice(2)}`);
  const wait = until === undefined ? '' : `until [ -e '${until}' ]; do sleep 0.05; done\n`;
  const steps = Array.from({ length: commands }, (_, index) =>
    run(`touch ${mark}-${index + 1}\n${wait}echo done`),
  );
  const file = await replayFile(world, `${path.basename(mark)}.json`, [
    ...steps,
    finish('all done'),
  ]);
  await world.acs('settings', 'set', 'confirmation_mode=true');
  const words = ['conv', 'new', 'do it', '--no-repo', '--replay', file, '--wait', '--json'];
  const started = await world.acs(...words, ...placed(world));
  await world.acs('settings', 'set', 'confirmation_mode=false');
  if (started.code !== 8) throw new Error(`conv new ended with ${started.code}: ${started.err}`);
  return { id: json(started).id, did: (command) => existsSync(`${mark}-${command}`) };
}

export async function statusOf(world: Pick<World, 'acs'>, id: string): Promise<string> {
  return json(await world.acs('conv', 'show', id, '--json')).status;
}

/** Stops what the conversation runs in: its sandbox, or over V0 the conversation itself. */
export async function putToSleep({ world }: Pick<Suite, 'world'>, id: string): Promise<void> {
  const { sandbox_id: sandbox } = json(await world.acs('conv', 'show', id, '--json'));
  if (sandbox !== null) return void (await world.acs('sandbox', 'pause', sandbox));
  const headers = { 'x-session-api-key': world.service.key };
  const answer = await fetch(`${world.service.url}/api/conversations/${id}/stop`, {
    method: 'POST',
    headers,
  });
  if (!answer.ok) throw new Error(`the stop ended with ${answer.status}`);
}

/**
 * A world of `conv` for the enclosing suite, with a run that has ended; `id` is set while tests
 * run.
 */
export function useEndedRun(
  options: SuiteOptions = { spec: 'process' },
): Suite & { readonly id: string } {
  const at = useWorld(options);
  let id: string;
  beforeAll(async () => {
    id = await endedRun(at.world, '--title', 'The first', '--id', `aaaa${'1'.repeat(28)}`);
  });
  return Object.defineProperty(at, 'id', { get: () => id }) as Suite & { readonly id: string };
}

/**
 * Gives the answer to a question; a promise that never settles leaves the question open. `shown` is
 * what stdout holds, `screen` what the terminal shows.
 */
export type Person = (
  question: string,
  until?: AbortSignal,
  shown?: () => string,
  screen?: Screen,
) => Promise<string>;

/** Runs acs on a terminal, with the answers of a person to its prompts. */
export async function onTerminal(
  world: Pick<World, 'env' | 'dir'>,
  args: string[],
  person: Person,
): Promise<Pick<Ended, 'code' | 'out' | 'err'>> {
  const refused = (): Promise<never> => Promise.reject(new Error('the test has no answer to this'));
  const screen = new Screen();
  const onText = (text: string): void => void screen.write(text);
  const invocation = {
    args,
    columns: 100,
    env: world.env,
    cwd: world.dir,
    onOut: onText,
    onErr: onText,
  };
  const { platform, stdout, stderr } = platformOf(invocation);
  const context = createContext(platform);
  const text = (stream: typeof stdout) => stream.bytes().toString('utf8');
  const ask: Prompt['input'] = async ({ message, until: closed }) => {
    const answer = person(message, closed, () => text(stdout), screen);
    if (closed === undefined) return await answer;
    const taken = new Promise<never>((_resolve, reject) => {
      closed.addEventListener('abort', () => reject(closed.reason as Error), { once: true });
    });
    return await Promise.race([answer, taken]);
  };
  const prompt: Prompt = {
    confirm: async ({ message, until: closed }) =>
      (await ask({ message, until: closed })) === 'yes',
    input: ask,
    select: refused,
    secret: ({ message }) => person(message),
    editor: refused,
  };
  context.terminal.prompt = () => Promise.resolve(prompt);
  const code = await runLine(args, context);
  return { code, out: text(stdout), err: text(stderr) };
}

export const KEYS = { enter: '\r', ctrlC: '\x03', ctrlD: '\x04', up: '\x1b[A' } as const;

export interface ChatOnTerminal {
  type(keys: string): void;
  /** All that was written to the terminal, without escape sequences. */
  shown(): string;
  /** Until the terminal shows the text, after what it showed at the last call. */
  sees(text: string): Promise<void>;
  /** Until the prompt is shown with nothing behind it. */
  prompt(): Promise<void>;
  /** Types, which ends the command with this exit code. */
  ends(keys: string, code: number): Promise<void>;
  ended: Promise<number>;
}

/** `conv chat` in this process: a test types, and reads what the terminal has shown. */
export function chat(world: Pick<World, 'env' | 'dir'>, ...args: string[]): ChatOnTerminal {
  let written = '';
  let seen = 0;
  const keep = (text: string): void => void (written += text);
  const invocation = {
    args,
    columns: 160,
    env: world.env,
    cwd: world.dir,
    onOut: keep,
    onErr: keep,
  };
  const { platform } = platformOf(invocation);
  const raw = new PassThrough();
  const context = createContext({
    ...platform,
    io: { ...platform.io, stdin: { ...platform.io.stdin, raw } },
  });
  const shown = (): string => stripVTControlCharacters(written);
  let code: number | null = null;
  const ended = runLine(['conv', 'chat', ...args], context).then((exitCode) => (code = exitCode));
  const sees = async (
    text: string,
    at = (): number => shown().indexOf(text, seen),
  ): Promise<void> => {
    const isShown = (): boolean => at() >= seen;
    await until(() => isShown() || code !== null).catch(() => undefined);
    if (!isShown()) throw new Error(`"${text}" was not shown (exit code ${code}):\n${shown()}`);
    seen = at() + text.length;
  };
  const prompt = () => sees('> ', () => (shown().endsWith('\n> ') ? shown().length - 2 : -1));
  const type = (keys: string): void => void raw.write(keys);
  const ends = async (keys: string, expected: number): Promise<void> => {
    type(keys);
    expect(await ended, shown()).toBe(expected);
  };
  return { type, shown, sees: (text) => sees(text), prompt, ends, ended };
}

/** A recorded run for two messages. */
export function twoRuns(world: Pick<World, 'dir'>): Promise<string> {
  return replayFile(world, 'two-runs.json', [
    run('echo one > a.txt'),
    finish('The first is done.'),
    run('echo two >> a.txt'),
    finish('The second is done.'),
  ]);
}
