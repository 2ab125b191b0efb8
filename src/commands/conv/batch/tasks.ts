/** The tasks of a batch: one JSON object a line, with the long flags of `conv new`, `message` and `key`. */
import { createHash } from 'node:crypto';
import type { Command, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { AppError, isAppError } from '../../../errors.ts';
import { collect } from '../../option-parsers.ts';
import { readTextInput } from '../message.ts';
import { hasTask, readDraft, type Draft } from '../new-draft.ts';
import { addNewOptions, checkNewOptions, type NewOptions } from '../new-options.ts';
import { checkTitle } from '../rename.ts';

export interface Task {
  key: string;
  /** Of the file, from 1. */
  line: number;
  options: NewOptions;
  /** Of what is to be started, with the contents of the files that it names and without values of secrets. */
  fingerprint: string;
  /** Reads the files of the task again. */
  draft(): Promise<Draft>;
}

/** Flags of `conv new` without a meaning for one of many tasks, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  wait: 'a batch waits for every run',
  'no-wait': 'a batch waits for every run',
  follow: 'a batch does not print events',
  count: 'a line is one task; repeat the line with another key',
  'id-file': 'the results file has the ids',
};

const LONGEST_KEY = 200;

/**
 * Reads all tasks and checks them; throws `usage` that names every wrong line.
 * @param source a path, or `-`
 */
export async function readTasks(ctx: Context, command: Command, source: string): Promise<Task[]> {
  const text = await readTextInput(ctx, source);
  const problems: { line: number; message: string }[] = [];
  const tasks: Task[] = [];
  const lineOfKey = new Map<string, number>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    try {
      const task = await readTask(ctx, command, line, index + 1);
      const before = lineOfKey.get(task.key);
      if (before !== undefined) throw wrong(`the key ${JSON.stringify(task.key)} is that of line ${before} too`);
      lineOfKey.set(task.key, task.line);
      tasks.push(task);
    } catch (error) {
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
      problems.push({ line: index + 1, message: error.message });
    }
  }
  const name = source === '-' ? 'stdin' : source;
  if (problems.length === 0) {
    if (tasks.length === 0) throw new AppError('usage', `${name} has no tasks`);
    return tasks;
  }
  for (const { line, message } of problems.slice(1)) await ctx.warn(`${name}, line ${line}: ${message}`);
  const [first] = problems;
  const more = problems.length > 1 ? ` (${problems.length} lines are wrong)` : '';
  throw new AppError('usage', `${name}, line ${first?.line}: ${first?.message}${more}`, {
    hint: 'nothing was started; the members of a line: acs batch --help',
    data: { lines: problems },
  });
}

async function readTask(ctx: Context, command: Command, text: string, line: number): Promise<Task> {
  const { key, message, ...members } = readObject(text);
  checkKey(key);
  if (message !== undefined && typeof message !== 'string') throw wrong('"message" must be a text');
  const options = readFlags(command, members);
  if (message === '-' || options.file === '-') throw wrong('"-" is stdin, which a line cannot read');
  checkNewOptions(ctx, message, options);
  if (options.title !== undefined) checkTitle(options.title);
  const draft = () => readDraft(ctx, message, options);
  const read = await draft();
  if (!hasTask(read)) throw wrong('"message", "file", "replay", "suggested-task" or "microagent" is missing');
  return { key, line, options, draft, fingerprint: fingerprintOf(read, options) };
}

/** The text is not quoted in an error: it may hold a secret. */
function readObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong('it is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('it is not a JSON object');
  const repeated = repeatedMember(text);
  if (repeated !== null) throw wrong(`it has the member ${repeated.slice(0, 100)} twice`);
  return value as Record<string, unknown>;
}

/** The name of a member that the object has twice, as JSON; null: none. Of two values JSON.parse returns the last. */
function repeatedMember(text: string): string | null {
  const names = new Set<string>();
  let depth = 0;
  let from = 0;
  let isString = false;
  let lastString = '';
  // Short matches alone: one that spans a long string may exceed the stack.
  for (const { 0: token, index } of text.matchAll(/\\.|["{}[\]:]/g)) {
    if (token === '"') {
      if (isString) lastString = text.slice(from, index + 1);
      else from = index;
      isString = !isString;
    } else if (isString) continue;
    else if (token !== ':') depth += token === '{' || token === '[' ? 1 : -1;
    else if (depth === 1) {
      const name = JSON.stringify(JSON.parse(lastString));
      if (names.has(name)) return name;
      names.add(name);
    }
  }
  return null;
}

function checkKey(key: unknown): asserts key is string {
  if (key === undefined) throw wrong('"key" is missing: a name for the task that no other line has');
  if (typeof key !== 'string' || key.trim() === '') throw wrong('"key" must be a text that is not empty');
  if (key.length > LONGEST_KEY) throw wrong(`"key" is longer than ${LONGEST_KEY} characters`);
  if (/\p{Cc}/u.test(key)) throw wrong('"key" has control characters');
}

/** The members as a command line, which the definitions of `conv new` read. */
export function readFlags(command: Command, members: Record<string, unknown>): NewOptions {
  const reader = addNewOptions(command.createCommand('task').helpOption(false))
    .exitOverride()
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const words = Object.entries(members).flatMap(([name, value]) => flagWords(reader, name, value));
  try {
    reader.parse(words, { from: 'user' });
  } catch (error) {
    throw wrong((error as Error).message.replace(/^error: /, '').replace(/\n[^]*/, ''));
  }
  return { ...reader.opts<NewOptions>(), wait: true };
}

function flagWords(reader: Command, name: string, value: unknown): string[] {
  const refused = REFUSED[name];
  if (refused !== undefined) throw wrong(`"${name}" is not for a line: ${refused}`);
  const option = reader.options.find(({ long }) => long === `--${name}`);
  if (option === undefined) throw wrong(unknownMember(reader, name));
  if (!option.required) {
    if (typeof value !== 'boolean') throw wrong(`"${name}" must be true or false`);
    return value ? [`--${name}`] : [];
  }
  // As --no-repo.
  const negated = reader.options.find(({ long }) => long === `--no-${name}`);
  if (value === false && negated !== undefined) return [`--no-${name}`];
  const values: unknown[] = Array.isArray(value) && isRepeatable(option) ? value : [value];
  return values.map((each) => {
    if (typeof each !== 'string' && typeof each !== 'number') {
      throw wrong(`"${name}" must be a text${isRepeatable(option) ? ' or a list of texts' : ''}`);
    }
    return `--${name}=${each}`;
  });
}

function isRepeatable({ parseArg }: Option): boolean {
  return parseArg === collect;
}

/** The name alone: the value may be a secret. */
function unknownMember(reader: Command, name: string): string {
  const shown = JSON.stringify(name.slice(0, 100));
  const dashed = name.replace(/^-+/, '').replaceAll('_', '-');
  const isMeant = dashed !== name && reader.options.some(({ long }) => long === `--${dashed}`);
  return `${shown} is not a member of a task${isMeant ? `; it is called "${dashed}"` : ''}`;
}

function fingerprintOf({ secrets, given: _given, ...draft }: Draft, options: NewOptions): string {
  const { repo = null, branch = null, gitProvider = null, title = null, spec = null } = options;
  const task = [draft, Object.keys(secrets).sort(), repo, branch, gitProvider, title, spec];
  return createHash('sha256').update(JSON.stringify(task)).digest('hex').slice(0, 32);
}

function wrong(message: string): AppError {
  return new AppError('usage', message);
}
