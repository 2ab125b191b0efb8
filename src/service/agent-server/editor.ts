import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { EditStep } from '../base/steps.ts';
import { IsolationError, onRefusal } from '../isolation/connection.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { movedPath } from './recorded-paths.ts';
import { cut } from '../../base/text/well-formed.ts';

const LARGEST_FILE = 10 * 1024 * 1024;
const KEPT_VERSIONS = 10;
const LONGEST_VIEW = 30_000;
const LONGEST_LISTING = 500;
const CONTEXT_LINES = 4;
const SHOWN_LINES = 20;
const LONGEST_LINE = 1000;
/** The share of common words above which a line is like another. */
const LEAST_LIKENESS = 0.5;

/** Members of the observation. */
export interface EditResult {
  text: string;
  is_error: boolean;
  path: string;
  prev_exist: boolean;
  old_content?: string | undefined;
  new_content?: string | undefined;
}

type Outcome = Pick<EditResult, 'text'> & Partial<EditResult>;
type Command = (step: EditStep, file: string, signal?: AbortSignal) => Promise<Outcome>;
type Modify = (content: string, step: EditStep, file: string) => { after: string; line: number };

/** The file editor tool. Its refusals are texts for the agent. */
export class Editor {
  readonly #sandbox: Sandbox;
  /** The content of files before each edit; null: the file did not exist. */
  readonly #versions = new Map<string, (string | null)[]>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  async edit(step: EditStep, workingDir: string, signal?: AbortSignal): Promise<EditResult> {
    let file = step.path;
    try {
      const { home } = await this.#sandbox.folders();
      // A shell reads `~` as the home.
      const named = file.replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
      file = movedPath(this.#sandbox.inWorkspace(workingDir, named), workingDir);
      const outcome = await this.#commands[step.command](step, file, signal);
      return { is_error: false, path: file, prev_exist: true, ...outcome };
    } catch (error) {
      const isRefusal = error instanceof IsolationError;
      if (!isRefusal || (error.code === 'gone' && signal?.aborted)) throw error;
      const text = error.code === 'not-found' ? `No such file: ${file}` : error.message;
      return { text, is_error: true, path: file, prev_exist: true };
    }
  }

  readonly #commands: Record<EditStep['command'], Command> = {
    view: async ({ view_range: range }, file, signal) => {
      const content = await this.#read(file, signal).catch(onRefusal('not-a-file', () => null));
      if (content === null) return { text: await this.#listing(file, signal) };
      const count = linesOf(content).length;
      const [first, end] = range ?? [1, -1];
      const last = end === -1 ? count : Math.min(end, count);
      if (range !== undefined && (first < 1 || first > Math.max(1, count) || last < first))
        refuse(`view_range must lie between 1 and ${count}.`);
      return { text: `Lines of ${file}:\n${numbered(content, first, last)}` };
    },

    create: async (step, file, signal) => {
      const newContent = required(step, 'file_text');
      const oldContent = await this.#readIfThere(file, signal);
      await this.#change(file, oldContent, newContent, signal);
      const text = oldContent === null ? `File created: ${file}` : `File written anew: ${file}`;
      return {
        text,
        prev_exist: oldContent !== null,
        old_content: oldContent ?? undefined,
        new_content: newContent,
      };
    },

    str_replace: (...edit) => this.#modify(replaceOnce, ...edit),
    insert: (...edit) => this.#modify(insertAfterLine, ...edit),

    undo_edit: async (_, file, signal) => {
      const newContent = this.#versions.get(file)?.pop();
      if (newContent === undefined) refuse(`No edit of ${file} to take back.`);
      const oldContent = await this.#readIfThere(file, signal);
      await this.#write(file, newContent, signal);
      return {
        text: `Last edit of ${file} taken back.`,
        old_content: oldContent ?? undefined,
        new_content: newContent ?? undefined,
      };
    },
  };

  async #modify(modify: Modify, ...[step, file, signal]: Parameters<Command>): Promise<Outcome> {
    const oldContent = await this.#read(file, signal);
    const { after, line } = modify(oldContent, step, file);
    if (after === oldContent) refuse(`No change: the edit leaves ${file} as it is.`);
    await this.#change(file, oldContent, after, signal);
    const shown = numbered(after, Math.max(1, line - CONTEXT_LINES), line + CONTEXT_LINES);
    return {
      text: `File edited: ${file}\n${shown}`,
      old_content: oldContent,
      new_content: after,
    };
  }

  async #change(file: string, before: string | null, after: string, signal?: AbortSignal) {
    const versions = this.#versions.get(file) ?? [];
    this.#versions.set(file, [...versions, before].slice(-KEPT_VERSIONS));
    await this.#write(file, after, signal);
  }

  async #write(path: string, content: string | null, signal?: AbortSignal): Promise<void> {
    if (content === null) {
      const remove = { argv: ['rm', '-f', '--', path], cwd: '/' };
      await this.#sandbox.run(remove, { signal });
      return;
    }
    const data = Buffer.from(content).toString('base64');
    await this.#sandbox.ask('write', { path, token: randomUUID(), data, then: 'done' }, signal);
  }

  async #read(file: string, signal?: AbortSignal): Promise<string> {
    const bytes = await this.#sandbox.readFile(file, LARGEST_FILE, signal);
    if (bytes.includes(0)) refuse(`${file} is a binary file.`);
    if (!isUtf8(bytes)) refuse(`${file} is not UTF-8: use the terminal.`);
    return bytes.toString('utf8');
  }

  #readIfThere(file: string, signal?: AbortSignal): Promise<string | null> {
    return this.#read(file, signal).catch(onRefusal('not-found', () => null));
  }

  async #listing(path: string, signal?: AbortSignal): Promise<string> {
    const { entries } = await this.#sandbox.ask('list', { path }, signal);
    const names = entries
      .filter(({ name }) => !name.startsWith('.'))
      .map(({ name, isFolder }) => (isFolder ? `${name}/` : name))
      .sort();
    const rest = names.length - LONGEST_LISTING;
    const more = rest > 0 ? [`[... ${rest} more ...]`] : [];
    const title = `Entries of ${path}, hidden ones left out:`;
    return [title, ...names.slice(0, LONGEST_LISTING), ...more].join('\n');
  }
}

const replaceOnce: Modify = (content, step, file) => {
  const old = withLineEnds(required(step, 'old_str'), content);
  const [before = '', rest, ...more] = old === '' ? [content] : content.split(old);
  if (rest === undefined)
    refuse(`No replacement: old_str does not occur in ${file}.${nearest(content, old)}`);
  if (more.length > 0) {
    const lines = linesAfter([before, rest, ...more.slice(0, -1)], old);
    refuse(`No replacement: old_str occurs at the lines ${lines} of ${file}; make it unique.`);
  }
  const after = before + withLineEnds(step.new_str ?? '', content) + rest;
  return { after, line: before.split('\n').length };
};

/** The lines where a text begins; `parts`: what is before each. */
function linesAfter(parts: readonly string[], text: string): string {
  let line = 1;
  const lines = parts.map((part, index) => {
    line += countOf(part, '\n') + (index === 0 ? 0 : countOf(text, '\n'));
    return String(line);
  });
  const rest = lines.length - SHOWN_LINES;
  return lines.slice(0, SHOWN_LINES).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** The lines that are most like the beginning of a text that does not occur; empty: none is. */
function nearest(content: string, text: string): string {
  const words = wordsOf(text.split('\n').find((line) => line.trim() !== '') ?? '');
  let best = { line: 0, likeness: LEAST_LIKENESS };
  for (const [index, line] of linesOf(content).entries()) {
    const own = wordsOf(line);
    const common = [...own].filter((word) => words.has(word)).length;
    const likeness = (2 * common) / (own.size + words.size);
    if (likeness > best.likeness) best = { line: index + 1, likeness };
  }
  if (best.line === 0) return '';
  const last = best.line + countOf(text, '\n') + CONTEXT_LINES;
  return ` The nearest lines:\n${numbered(content, Math.max(1, best.line - CONTEXT_LINES), last)}`;
}

function wordsOf(line: string): Set<string> {
  return new Set(cut(line, LONGEST_LINE).match(/\w+|[^\w\s]/g));
}

const insertAfterLine: Modify = (content, step, file) => {
  const text = withLineEnds(required(step, 'new_str'), content);
  const lines = content === '' ? [] : content.split(/(?<=\n)/);
  const { insert_line: at = -1 } = step;
  if (at < 0 || at > lines.length)
    refuse(`insert_line must lie between 0 and ${lines.length} in ${file}.`);
  const ended = (line: string): string =>
    line.endsWith('\n') ? line : line + withLineEnds('\n', content);
  const rest = lines.slice(at).join('');
  const after = lines.slice(0, at).map(ended).join('') + (rest === '' ? text : ended(text)) + rest;
  return { after, line: at + 1 };
};

function required(step: EditStep, name: 'file_text' | 'old_str' | 'new_str'): string {
  return step[name] ?? refuse(`The parameter ${name} is required for ${step.command}.`);
}

/** Models write line feeds alone, also for a file with CRLF. */
function withLineEnds(text: string, content: string): string {
  const isDos = content.includes('\r\n') && !/(?<!\r)\n/.test(content);
  return isDos ? text.replace(/\r?\n/g, '\r\n') : text;
}

function refuse(why: string): never {
  throw new IsolationError('invalid', why);
}

function linesOf(content: string): string[] {
  return content.replace(/\n$/, '').split('\n');
}

function numbered(content: string, first: number, last: number): string {
  const text = linesOf(content)
    .slice(first - 1, last)
    .map((line, index) => `${String(first + index).padStart(6)}\t${line}`)
    .join('\n');
  if (text.length <= LONGEST_VIEW) return text;
  const rest = String(text.length - LONGEST_VIEW);
  return `${cut(text, LONGEST_VIEW)}\n[... ${rest} characters left out ...]`;
}
