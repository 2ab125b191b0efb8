import { statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../base/errors.ts';
import { jsonDocument, jsonLine, jsonLines, jsonList, mapStrings } from './json.ts';
import { Sink, type SinkOptions } from './sink.ts';
import { exactCell, renderLines, renderPairs, renderTable, type Look } from './render.ts';
import { isForPrograms, NO_COLORS, type Palette } from '../base/text/notice.ts';
import {
  bulkView,
  chosenFields,
  recordOf,
  type BulkResult,
  type Field,
  type View,
  valueOf,
} from './view.ts';
import { safeLine } from '../base/text/safe-text.ts';

const FORMATS = ['table', 'tsv', 'json', 'ndjson', 'id'] as const;
export type Format = (typeof FORMATS)[number];

/** `document`: raw bytes, or JSON with --json. */
export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw' | 'document';

export interface EmitterSettings {
  format?: Format;
  fields?: readonly string[];
  jq?: string;
  requestTimeoutMs?: number;
  output?: string;
  mode?: 'live' | 'dry-run';
}

interface EmitterOptions extends SinkOptions {
  globals: EmitterSettings;
  /** Colours of stdout; called only for tables and plain lines. */
  palette?: () => Promise<Palette>;
  redact?: (text: string) => string;
  isRedacted?: (value: object) => boolean;
  /** Writes to the terminal through the pager. */
  page?: (text: string) => Promise<void>;
}

const UNKNOWN_COLUMNS = 80;

/** Prints the data of a command in the format of the flags. */
export class Emitter extends Sink {
  readonly #options: EmitterOptions;
  readonly #base: Format;
  #kind: OutputKind | null = null;

  constructor(options: EmitterOptions) {
    super(options);
    this.#options = options;
    this.#base = options.globals.format ?? (this.onTerminal ? 'table' : 'tsv');
  }

  /** After `check` of a stream, json is ndjson. */
  get format(): Format {
    return this.#kind === 'stream' && this.#base === 'json' ? 'ndjson' : this.#base;
  }

  /** Throws `usage` for a format or field that the command does not have, before any request. */
  check<T>(view: View<T> | null, kind: OutputKind): void {
    const { globals, cwd = '.' } = this.#options;
    checkFile(globals.output, cwd);
    checkFormat(view, kind, globals);
    this.#kind = kind;
  }

  /** Text on a terminal goes through the pager, each write by itself. */
  page(): void {
    const { page } = this.#options;
    if (page !== undefined && this.onTerminal && this.#base === 'table') this.pageWith(page);
  }

  async list<T>(view: View<T>, items: readonly T[], page: { has_more: boolean }): Promise<void> {
    await this.#printList(view, items, page, `no ${pluralOf(view.noun)}`);
  }

  async bulk({ items, ...counts }: BulkResult): Promise<void> {
    const printed = this.#base === 'id' ? items.filter(({ ok }) => ok) : items;
    await this.#printList(bulkView, printed, counts, 'nothing matched');
  }

  async item<T>(view: View<T>, item: T, extra: Record<string, unknown> = {}): Promise<void> {
    const { fields } = this.#options.globals;
    if (isForPrograms(this.#base)) {
      const record = this.redacted({ ...recordOf(view, item, fields), ...extra });
      return await this.write(this.#base === 'json' ? jsonDocument(record) : jsonLine(record));
    }
    if (this.#base !== 'table') return await this.write(this.#rows(view, [item], this.#base));
    const all = this.#columns(view, undefined);
    const shown = fields ? all : all.filter((field) => !isEmpty(valueOf(field, item)));
    await this.write(renderPairs(shown, item, await this.#look()));
  }

  /**
   * Written at once in one write. Of a list that goes out in parts: its rows in a format of one
   * line an item.
   */
  async lines<T>(view: View<T>, items: readonly T[]): Promise<void> {
    const { globals, redact = (text) => text } = this.#options;
    const format = this.#kind === 'list' ? this.#base : (globals.format ?? 'table');
    const { line } = view;
    if (format !== 'table' || globals.fields || !line)
      return await this.write(this.#rows(view, items, format));
    const parts = items.map((item) =>
      line(item).map((part) => ({ ...part, text: redact(part.text) })),
    );
    await this.write(renderLines(parts, await this.#look(), view.lineIndent));
  }

  /** Nothing in plain text when `plain` is absent. */
  async record(record: Record<string, unknown>, plain?: string): Promise<void> {
    const { globals, redact = (text) => text } = this.#options;
    const { format = 'table' } = globals;
    if (isForPrograms(format)) return await this.write(jsonLine(this.redacted(record)));
    if (format !== 'table' || plain === undefined) return;
    const look = { width: Infinity, palette: NO_COLORS };
    await this.write(renderLines([[{ text: redact(plain) }]], look));
  }

  async documents(values: readonly unknown[]): Promise<void> {
    const text = this.#base === 'ndjson' ? jsonLine : jsonDocument;
    await this.write(values.map((value) => text(this.redacted(value))).join(''));
  }

  /** Without secrets, for texts that go to `raw`. */
  redacted<T>(value: T): T {
    const { redact = (text) => text, isRedacted } = this.#options;
    return mapStrings(value, redact, isRedacted) as T;
  }

  /** A stream without any item still creates the file of --output; a dry run creates none. */
  override async close(): Promise<void> {
    if (this.#kind !== null && this.#options.globals.mode !== 'dry-run') await this.put('');
    await super.close();
  }

  async #printList<T>(
    view: View<T>,
    items: readonly T[],
    members: object,
    none: string,
  ): Promise<void> {
    if (this.#base === 'json')
      return await this.write(jsonList(this.#records(view, items), this.redacted(members)));
    if (this.#base !== 'table') return await this.write(this.#rows(view, items, this.#base));
    const { table } = view;
    await this.write(
      items.length === 0 ? '' : renderTable(this.#columns(view, table), items, await this.#look()),
    );
    if (items.length === 0) await this.#options.io.stderr.write(`${none}\n`);
  }

  #rows<T>(view: View<T>, items: readonly T[], format: Format): string | Uint8Array {
    if (isForPrograms(format)) return jsonLines(this.#records(view, items));
    const fields = this.#columns(view, view.tsv);
    const lines =
      format === 'id'
        ? items.map((item) => safeLine(view.id(item))).filter(Boolean)
        : items.map((item) => fields.map((field) => exactCell(field, item)).join('\t'));
    return lines.map((line) => `${line}\n`).join('');
  }

  #records<T>(view: View<T>, items: readonly T[]): unknown[] {
    const { globals, isRedacted } = this.#options;
    return items.map((item) => {
      const record = recordOf(view, item, globals.fields);
      return isRedacted?.(item as object) ? record : this.redacted(record);
    });
  }

  #columns<T>(view: View<T>, preset: readonly string[] | undefined): Field<T>[] {
    const names = this.#options.globals.fields ?? preset ?? view.fields.map(({ name }) => name);
    return chosenFields(view, names).map((field) => ({
      ...field,
      get: (item) => this.redacted(valueOf(field, item)),
    }));
  }

  async #look(): Promise<Look> {
    const { io, palette, now } = this.#options;
    return {
      width: this.onTerminal ? io.stdout.columns || UNKNOWN_COLUMNS : Infinity,
      // On a pipe there are colours only with FORCE_COLOR (for `less -R`), in a file never.
      palette: this.target === 'stdout' && palette ? await palette() : NO_COLORS,
      nowMs: now(),
    };
  }
}

function isEmpty(value: unknown): boolean {
  return value == null || value === '' || (Array.isArray(value) && value.length === 0);
}

function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return `${noun}${/(?:s|x|ch|sh)$/.test(noun) ? 'es' : 's'}`;
}

function checkFormat<T>(
  view: View<T> | null,
  kind: OutputKind,
  { format, fields, jq }: EmitterSettings,
): void {
  if (kind === 'raw' || kind === 'document') {
    const flag = jq === undefined ? `--format ${format}` : '--jq';
    if (format && !(kind === 'document' && format.includes('json')))
      throw new AppError('usage', `this command prints raw data and has no ${flag}`);
    if (fields) throw new AppError('usage', 'this command prints raw data and has no --fields');
    return;
  }
  if (kind === 'stream' && format === 'table')
    throw new AppError('usage', 'a stream cannot be printed as a table', {
      hint: 'omit --format for plain lines, or use tsv, ndjson or id',
    });
  if (!fields) return;
  if (!view) throw new AppError('usage', 'this command has no --fields');
  if (format === 'id') throw new AppError('usage', '-q (ids only) and --fields cannot be combined');
  chosenFields(view, fields);
}

function checkFile(output: string | undefined, cwd: string): void {
  if (output === undefined || output === '-') return;
  if (output === '')
    throw new AppError('usage', '--output needs the name of a file, or - for stdout');
  const isFormat = FORMATS.some((format) => format === output);
  if (isFormat || ['yaml', 'wide', 'csv'].includes(output)) {
    const use = isFormat ? `use --format ${output}` : `--format takes ${FORMATS.join(', ')}`;
    throw new AppError(
      'usage',
      `-o takes a file, and "${output}" is ${isFormat ? 'a format' : 'not a format of acs'}`,
      {
        hint: `${output === 'json' ? 'use --json' : use}; for a file of that name: -o ./${output}`,
      },
    );
  }
  const file = path.resolve(cwd, output);
  const [isFolder, hasFolder] = [file, path.dirname(file)].map((name) => {
    try {
      return statSync(name).isDirectory();
    } catch {
      return false;
    }
  });
  if (!isFolder && hasFolder) return;
  const [reason, hint] = isFolder
    ? ['it is a folder', 'name a file in it']
    : ['its folder does not exist', 'create the folder, or choose another one'];
  throw new AppError('config', `cannot write ${output}: ${reason}`, { hint });
}
