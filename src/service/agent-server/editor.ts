/**
 * The file editor tool: view, create, str_replace, insert, undo_edit. Its refusals are texts for
 * the agent.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { EditStep } from '../base/steps.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { cut } from '../../base/text/well-formed.ts';

const LARGEST_FILE = 10 * 1024 * 1024;
const KEPT_VERSIONS = 10;
const LONGEST_VIEW = 30_000;
const LONGEST_LISTING = 500;
const CONTEXT_LINES = 4;

/** `text` is the observation of the agent; `isError`: a mistake of the agent. */
export interface EditResult {
  text: string;
  isError: boolean;
  path: string;
  previouslyExisted: boolean;
  oldContent: string | null;
  newContent: string | null;
}

export class Editor {
  readonly #sandbox: Sandbox;
  /** The content of files before each edit; null: the file did not exist. */
  readonly #versions = new Map<string, (string | null)[]>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  async edit(step: EditStep, file: string, signal?: AbortSignal): Promise<EditResult> {
    const result = {
      isError: false,
      path: file,
      previouslyExisted: true,
      oldContent: null,
      newContent: null,
    };
    try {
      return { ...result, ...(await this.#perform(step, file, signal)) };
    } catch (error) {
      if (!(error instanceof IsolationError) || error.code === 'gone') throw error;
      return {
        ...result,
        text: error.code === 'not-found' ? `No such file: ${file}` : error.message,
        isError: true,
      };
    }
  }

  async #perform(
    step: EditStep,
    file: string,
    signal?: AbortSignal,
  ): Promise<{ text: string } & Partial<EditResult>> {
    const { command, new_str } = step;
    const required = (name: 'file_text' | 'old_str' | 'new_str'): string => {
      const value = step[name];
      return value ?? refuse(`The parameter ${name} is required for ${command}.`);
    };
    const write = async (text: string): Promise<void> => {
      const data = Buffer.from(text).toString('base64');
      await this.#sandbox.ask(
        'write',
        { path: file, token: randomUUID(), data, then: 'done' },
        signal,
      );
    };
    const remember = (content: string | null): void => {
      this.#versions.set(
        file,
        [...(this.#versions.get(file) ?? []), content].slice(-KEPT_VERSIONS),
      );
    };
    const change = async (before: string, after: string, line: number) => {
      if (after === before) refuse(`No change: the edit leaves ${file} as it is.`);
      remember(before);
      await write(after);
      const shown = numbered(after, Math.max(1, line - CONTEXT_LINES), line + CONTEXT_LINES);
      return { text: `File edited: ${file}\n${shown}`, oldContent: before, newContent: after };
    };

    switch (command) {
      case 'view': {
        const content = await this.#read(file, signal).catch((error: unknown) => {
          if (error instanceof IsolationError && error.code === 'not-a-file') return null;
          throw error;
        });
        if (content === null) return { text: await this.#listing(file, signal) };
        const count = content.split('\n').length - (content.endsWith('\n') ? 1 : 0);
        const [first, end] = step.view_range ?? [1, -1];
        const last = end === -1 ? count : Math.min(end, count);
        if (
          step.view_range !== undefined &&
          (first < 1 || first > Math.max(1, count) || last < first)
        ) {
          refuse(`view_range must lie between 1 and ${String(count)}.`);
        }
        return { text: `Lines of ${file}:\n${numbered(content, first, last)}` };
      }

      case 'create': {
        const content = required('file_text');
        const before = await this.#readIfThere(file, signal);
        remember(before);
        await write(content);
        const text = before === null ? `File created: ${file}` : `File written anew: ${file}`;
        return {
          text,
          previouslyExisted: before !== null,
          oldContent: before,
          newContent: content,
        };
      }

      case 'str_replace': {
        const content = await this.#read(file, signal);
        const old = withLineEnds(required('old_str'), content);
        const found = old === '' ? 0 : content.split(old).length - 1;
        if (found === 0) refuse(`No replacement: old_str does not occur in ${file}.`);
        if (found > 1)
          refuse(
            `No replacement: old_str occurs ${String(found)} times in ${file}; make it unique.`,
          );
        const at = content.indexOf(old);
        const before = content.slice(0, at);
        return change(
          content,
          before + withLineEnds(new_str ?? '', content) + content.slice(at + old.length),
          before.split('\n').length,
        );
      }

      case 'insert': {
        const content = await this.#read(file, signal);
        const text = withLineEnds(required('new_str'), content);
        const lines = content.split('\n');
        const count = content === '' ? 0 : lines.length - (content.endsWith('\n') ? 1 : 0);
        const at = step.insert_line ?? -1;
        if (at < 0 || at > count)
          refuse(`insert_line must lie between 0 and ${String(count)} in ${file}.`);
        const end = withLineEnds('\n', content);
        const before = lines
          .slice(0, at)
          .map((line, index) => line + (index < lines.length - 1 ? '\n' : end));
        const after = lines.slice(at).join('\n');
        const between = text.endsWith('\n') || after === '' ? '' : end;
        return change(content, before.join('') + text + between + after, at + 1);
      }

      case 'undo_edit': {
        const before = this.#versions.get(file)?.pop();
        if (before === undefined) refuse(`No edit of ${file} to take back.`);
        const content = await this.#readIfThere(file, signal);
        if (before !== null) await write(before);
        else {
          const remove = { argv: ['rm', '-f', '--', file], cwd: '/' };
          await this.#sandbox.run(remove, { signal, onOutput: () => undefined });
        }
        return {
          text: `Last edit of ${file} taken back.`,
          oldContent: content,
          newContent: before,
        };
      }
    }
  }

  async #read(file: string, signal?: AbortSignal): Promise<string> {
    const bytes = await this.#sandbox.readFile(file, LARGEST_FILE, signal);
    if (bytes.includes(0)) refuse(`${file} is a binary file.`);
    // An edit would replace what is not UTF-8.
    return isUtf8(bytes)
      ? bytes.toString('utf8')
      : refuse(`${file} is not UTF-8: use the terminal.`);
  }

  async #readIfThere(file: string, signal?: AbortSignal): Promise<string | null> {
    return this.#read(file, signal).catch((error: unknown) => {
      if (error instanceof IsolationError && error.code === 'not-found') return null;
      throw error;
    });
  }

  async #listing(folder: string, signal?: AbortSignal): Promise<string> {
    const { entries } = await this.#sandbox.ask('list', { path: folder }, signal);
    const names = entries
      .filter(({ name }) => !name.startsWith('.'))
      .map(({ name, isFolder }) => (isFolder ? `${name}/` : name))
      .sort();
    const rest = names.length - LONGEST_LISTING;
    const more = rest > 0 ? `\n[... ${String(rest)} more ...]` : '';
    return (
      `Entries of ${folder}, hidden ones left ` +
      `out:\n${names.slice(0, LONGEST_LISTING).join('\n')}${more}`
    );
  }
}

/** With the line ends of the file where all of them are CRLF: models write line feeds alone. */
function withLineEnds(text: string, content: string): string {
  const isDos = content.includes('\r\n') && !/(?<!\r)\n/.test(content);
  return isDos ? text.replace(/\r?\n/g, '\r\n') : text;
}

function refuse(why: string): never {
  throw new IsolationError('invalid', why);
}

function numbered(content: string, first: number, last: number): string {
  const lines = content.split('\n');
  if (content.endsWith('\n')) lines.pop();
  const text = lines
    .slice(first - 1, last)
    .map((line, index) => `${String(first + index).padStart(6)}\t${line}`)
    .join('\n');
  if (text.length <= LONGEST_VIEW) return text;
  return (
    `${cut(text, LONGEST_VIEW)}\n[... ${String(text.length - LONGEST_VIEW)} characters ` +
    `left out ...]`
  );
}
