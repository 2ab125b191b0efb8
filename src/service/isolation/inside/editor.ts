/** The file editor tool: view, create, str_replace, insert, undo_edit. Its refusals are texts for the agent. */
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import type { EditParameters, EditResult } from '../protocol.ts';
import { OperationError, systemCode } from './failure.ts';
import { regularFile } from './files.ts';

const LARGEST_FILE = 10 * 1024 * 1024;
const KEPT_VERSIONS = 10;
const LONGEST_VIEW = 30_000;
/** Lines shown before and after an edit. */
const CONTEXT_LINES = 4;

/** The content of files before each edit; null: the file did not exist. */
export class EditHistory {
  readonly #versions = new Map<string, (string | null)[]>();

  remember(file: string, content: string | null): void {
    const versions = this.#versions.get(file) ?? [];
    versions.push(content);
    this.#versions.set(file, versions.slice(-KEPT_VERSIONS));
  }

  /** The version before the latest edit; undefined: none is kept. */
  takeBack(file: string): string | null | undefined {
    return this.#versions.get(file)?.pop();
  }
}

/** Executes one command of the tool. A mistake of the agent is a result with `isError`. */
export async function editFile(wanted: EditParameters, history: EditHistory): Promise<EditResult> {
  const file = path.resolve(wanted.cwd, wanted.path);
  try {
    return await commands[wanted.command](file, wanted, history);
  } catch (error) {
    const refusal = error instanceof OperationError || systemCode(error) !== '';
    if (!refusal) throw error;
    return { ...result(file, messageOf(error, file)), isError: true };
  }
}

type Command = (file: string, wanted: EditParameters, history: EditHistory) => Promise<EditResult>;

const commands: Record<EditParameters['command'], Command> = {
  async view(file, wanted) {
    if ((await stat(file)).isDirectory()) return result(file, await listing(file));
    const content = await readText(file);
    const { first, last } = rangeOf(wanted.view_range, content);
    return { ...result(file, `Lines of ${file}:\n${numbered(content, first, last)}`), newContent: null };
  },

  async create(file, wanted, history) {
    const content = required(wanted.file_text, 'file_text', 'create');
    const before = await readTextIfThere(file);
    history.remember(file, before);
    makeFolder(path.dirname(file));
    await writeFile(file, content);
    const text = before === null ? `File created: ${file}` : `File written anew: ${file}`;
    return { ...result(file, text), previouslyExisted: before !== null, oldContent: before, newContent: content };
  },

  async str_replace(file, wanted, history) {
    const old = required(wanted.old_str, 'old_str', 'str_replace');
    const content = await readText(file);
    const found = old === '' ? 0 : content.split(old).length - 1;
    if (found === 0) throw new OperationError('invalid', `No replacement: old_str does not occur in ${file}.`);
    if (found > 1) {
      throw new OperationError(
        'invalid',
        `No replacement: old_str occurs ${String(found)} times in ${file}; make it unique.`,
      );
    }
    const at = content.indexOf(old);
    const changed = content.slice(0, at) + (wanted.new_str ?? '') + content.slice(at + old.length);
    return change(file, content, changed, lineOf(content, at), history);
  },

  async insert(file, wanted, history) {
    const text = required(wanted.new_str, 'new_str', 'insert');
    const content = await readText(file);
    const lines = content.split('\n');
    const known = content === '' ? 0 : lines.length - (content.endsWith('\n') ? 1 : 0);
    const at = wanted.insert_line ?? -1;
    if (at < 0 || at > known) {
      throw new OperationError('invalid', `insert_line must lie between 0 and ${String(known)} in ${file}.`);
    }
    const before = lines
      .slice(0, at)
      .map((line) => `${line}\n`)
      .join('');
    const after = lines.slice(at).join('\n');
    const ends = text.endsWith('\n') || after === '' ? '' : '\n';
    return change(file, content, before + text + ends + after, at + 1, history);
  },

  async undo_edit(file, _wanted, history) {
    const before = history.takeBack(file);
    if (before === undefined) throw new OperationError('invalid', `No edit of ${file} to take back.`);
    const content = await readTextIfThere(file);
    if (before === null) await rm(file, { force: true });
    else await writeFile(file, before);
    return { ...result(file, `Last edit of ${file} taken back.`), oldContent: content, newContent: before };
  },
};

async function change(
  file: string,
  before: string,
  after: string,
  line: number,
  history: EditHistory,
): Promise<EditResult> {
  history.remember(file, before);
  await writeFile(file, after);
  const shown = numbered(after, Math.max(1, line - CONTEXT_LINES), line + CONTEXT_LINES);
  return { ...result(file, `File edited: ${file}\n${shown}`), oldContent: before, newContent: after };
}

function result(file: string, text: string): EditResult {
  return { text, isError: false, path: file, previouslyExisted: true, oldContent: null, newContent: null };
}

function required(value: string | undefined, name: string, command: string): string {
  if (value === undefined) throw new OperationError('invalid', `The parameter ${name} is required for ${command}.`);
  return value;
}

async function readText(file: string): Promise<string> {
  const { size } = await regularFile(file);
  if (size > LARGEST_FILE)
    throw new OperationError('too-large', `${file} is larger than ${String(LARGEST_FILE)} bytes.`);
  const bytes = await readFile(file);
  if (bytes.includes(0)) throw new OperationError('invalid', `${file} is a binary file.`);
  return bytes.toString('utf8');
}

async function readTextIfThere(file: string): Promise<string | null> {
  try {
    return await readText(file);
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not-found') return null;
    throw error;
  }
}

function rangeOf(range: [number, number] | undefined, content: string): { first: number; last: number } {
  const count = content.split('\n').length - (content.endsWith('\n') ? 1 : 0);
  if (range === undefined) return { first: 1, last: count };
  const last = range[1] === -1 ? count : Math.min(range[1], count);
  if (range[0] < 1 || range[0] > Math.max(1, count) || last < range[0]) {
    throw new OperationError('invalid', `view_range must lie between 1 and ${String(count)}.`);
  }
  return { first: range[0], last };
}

function numbered(content: string, first: number, last: number): string {
  const lines = content.split('\n');
  if (content.endsWith('\n')) lines.pop();
  const text = lines
    .slice(first - 1, last)
    .map((line, index) => `${String(first + index).padStart(6)}\t${line}`)
    .join('\n');
  if (text.length <= LONGEST_VIEW) return text;
  return `${text.slice(0, LONGEST_VIEW)}\n[... ${String(text.length - LONGEST_VIEW)} characters left out ...]`;
}

async function listing(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.name.startsWith('.'))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort();
  const shown = names.slice(0, 500).join('\n');
  const more = names.length > 500 ? `\n[... ${String(names.length - 500)} more ...]` : '';
  return `Entries of ${folder}, hidden ones left out:\n${shown}${more}`;
}

function lineOf(content: string, at: number): number {
  return content.slice(0, at).split('\n').length;
}

function messageOf(error: unknown, file: string): string {
  if (error instanceof OperationError) return error.code === 'not-found' ? `No such file: ${file}` : error.message;
  const code = systemCode(error);
  return code === 'ENOENT' ? `No such file or directory: ${file}` : `${code}: ${file}`;
}
