/** A batch: one JSON object a line, with the long flags of `conv new`, `message` and `key`. */
import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, isFailure } from '../../../base/errors.ts';
import { nameOfInput } from '../../shared/files.ts';
import { collect } from '../../shared/option-parsers.ts';
import { readTextInput } from '../message.ts';
import { addNewOptions, checkNewOptions, type NewOptions } from '../new/options.ts';
import { hasTask, readDraft, type Draft } from '../new/request.ts';
import { isJsonObject } from '../../../domain/settings.ts';
import { cut } from '../../../base/text/well-formed.ts';

export interface Task {
  key: string;
  /** The line of the file, from 1. */
  line: number;
  options: NewOptions;
  /** A digest of what is to be started, with the contents of files, without values of secrets. */
  fingerprint: string;
  draft(): Promise<Draft>;
}

/** A batch waits for every run and prints no events, and the results file has the ids. */
const REFUSED: readonly string[] = [
  'wait',
  'no-wait',
  'follow',
  'count',
  'id-file',
  'with-changes',
];

/** Throws `usage` that names every wrong line. `source`: a path, or `-`. */
export async function readTasks(ctx: Context, command: Command, source: string): Promise<Task[]> {
  const text = (await readTextInput(ctx, source)).replace(/^\uFEFF/, '');
  const problems: { line: number; message: string }[] = [];
  const tasks = new Map<string, Task>();
  const lines = text.split('\n').map((content, index) => ({ content, line: index + 1 }));
  for (const { content, line } of lines.filter(({ content }) => content.trim() !== '')) {
    try {
      const task = await readTask(ctx, command, content, line);
      const { key } = task;
      const before = tasks.get(key);
      if (before) throw wrong(`the key ${JSON.stringify(key)} is that of line ${before.line} too`);
      tasks.set(key, task);
    } catch (error) {
      if (!isFailure(error)) throw error;
      problems.push({ line, message: error.message });
    }
  }
  const name = nameOfInput(source);
  const [first, ...others] = problems;
  if (first === undefined && tasks.size === 0) throw wrong(`${name} has no tasks`);
  if (first === undefined) return [...tasks.values()];
  for (const { line, message } of others) await ctx.warn(`${name}, line ${line}: ${message}`);
  const more = others.length > 0 ? ` (${problems.length} lines are wrong)` : '';
  throw new AppError('usage', `${name}, line ${first.line}: ${first.message}${more}`, {
    hint: 'nothing was started; the members of a line: acs batch --help',
    data: { lines: problems },
  });
}

async function readTask(ctx: Context, command: Command, text: string, line: number): Promise<Task> {
  const { key, message, ...members } = readObject(text);
  if (typeof key !== 'string' || key.trim() === '' || key.length > 200)
    throw wrong('"key" must be a name of at most 200 characters that no other line has');
  if (message !== undefined && typeof message !== 'string') throw wrong('"message" must be a text');
  const options = readFlags(command, members);
  if (message === '-' || options.file === '-')
    throw wrong('"-" is stdin, which a line cannot read');
  checkNewOptions(ctx, message, options);
  const draft = () => readDraft(ctx, message, options);
  const read = await draft();
  if (!hasTask(read)) throw wrong('"message", "file" or "replay" is missing');
  const { secrets, given: _given, ...stable } = read;
  const { repo, branch, gitProvider, title, spec, workspace } = options;
  const names = Object.keys(secrets).sort();
  const flags = [repo, branch, gitProvider, title, spec, ...(workspace ? [workspace] : [])];
  const parts = JSON.stringify([stable, names, ...flags]);
  const fingerprint = createHash('sha256').update(parts).digest('hex').slice(0, 32);
  return { key, line, options, draft, fingerprint };
}

function readObject(text: string): Record<string, unknown> {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // The text is not quoted: it may hold a secret.
  }
  if (isJsonObject(value)) return value;
  throw wrong('it is not a JSON object');
}

function readFlags(command: Command, members: Record<string, unknown>): NewOptions {
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

function flagWords({ options }: Command, name: string, value: unknown): string[] {
  if (REFUSED.includes(name)) throw wrong(`"${name}" is not for a line of a batch`);
  const optionOf = (flag: string) => options.find(({ long }) => long === `--${flag}`);
  const option = optionOf(name);
  if (option === undefined) {
    // The name alone: the value may be a secret.
    const dashed = name.replace(/^-+/, '').replaceAll('_', '-');
    const meant = optionOf(dashed) ? `; it is called "${dashed}"` : '';
    throw wrong(`${JSON.stringify(cut(name, 100))} is not a member of a task${meant}`);
  }
  if (!option.required) {
    if (typeof value !== 'boolean') throw wrong(`"${name}" must be true or false`);
    return value ? [`--${name}`] : [];
  }
  if (value === false && optionOf(`no-${name}`)) return [`--no-${name}`];
  const isRepeatable = option.parseArg === collect;
  const values: unknown[] = isRepeatable ? [value].flat() : [value];
  return values.map((each) => {
    if (typeof each === 'string' || typeof each === 'number') return `--${name}=${each}`;
    throw wrong(`"${name}" must be a text${isRepeatable ? ' or a list of texts' : ''}`);
  });
}

function wrong(message: string): AppError {
  return new AppError('usage', message);
}
