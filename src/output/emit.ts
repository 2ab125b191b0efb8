import { statSync } from 'node:fs';
import path from 'node:path';
import { AppError, cannotWrite, NO_FOLDER } from '../base/errors.ts';
import { jsonDocument, jsonLines, jsonList, mapStrings } from './json.ts';
import { Sink, type SinkOptions } from './sink.ts';
import { exactCell, renderLines, renderPairs, renderTable, type Look } from './render.ts';
import { isForPrograms, NO_COLORS, type Palette } from '../base/text/notice.ts';
import {
  bulkView,
  chosenFields,
  jsonRecord,
  type BulkResult,
  type Field,
  type LinePart,
  type View,
  valueOf,
} from './view.ts';
import { jsonLine, safeLine } from '../base/text/safe-text.ts';

export const FORMATS = ['table', 'tsv', 'json', 'ndjson', 'id'] as const;
export type Format = (typeof FORMATS)[number];

/** `document`: raw bytes, or JSON with --json. */
export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw' | 'document';

export type OutputFlags = SinkOptions['globals'] & {
  format?: Format;
  fields?: readonly string[];
  mode?: 'live' | 'dry-run';
};

interface EmitterOptions extends SinkOptions {
  globals: OutputFlags;
  /** Colours of stdout; called only for tables and plain lines. */
  palette: () => Promise<Palette>;
  redact: (text: string) => string;
  isRedacted: (value: object) => boolean;
  page?: ((text: string) => Promise<void>) | undefined;
}

const UNKNOWN_COLUMNS = 80;

export class Emitter extends Sink {
  readonly #options: EmitterOptions;
  readonly #base: Format;
  #kind: OutputKind | null = null;

  constructor(options: EmitterOptions) {
    super(options);
    this.#options = options;
    this.#base = options.globals.format ?? (this.onTerminal ? 'table' : 'tsv');
  }

  /** On a terminal, in the form that no flag has chosen. */
  get isPlain(): boolean {
    const { format, fields } = this.#options.globals;
    return this.onTerminal && (format ?? fields) === undefined;
  }

  /** After `check` of a stream, json is ndjson. */
  get format(): Format {
    return this.#kind === 'stream' && this.#base === 'json' ? 'ndjson' : this.#base;
  }

  /** Throws `usage` for a format or field that the command does not have, before any request. */
  check<T>(view: View<T> | null, kind: OutputKind): void {
    const { globals, cwd } = this.#options;
    checkFile(globals.output, cwd);
    checkFormat(view, kind, globals);
    this.#kind = kind;
  }

  /** Text on a terminal goes through the pager, each write by itself. */
  page(): void {
    const { page } = this.#options;
    if (page !== undefined && this.onTerminal && this.#base === 'table') this.pageWith(page);
  }

  /** `members`: of the document beside the items; `none`: printed on stderr of an empty table. */
  async list<T>(
    view: View<T>,
    items: readonly T[],
    members: object,
    none = `no ${pluralOf(view.noun)}`,
  ): Promise<void> {
    if (this.#base === 'json')
      return await this.write(jsonList(this.#records(view, items), this.redacted(members)));
    if (this.#base !== 'table') return await this.write(this.#rows(view, items, this.#base));
    const columns = this.#shownColumns(view, view.table);
    await this.write(items.length === 0 ? '' : renderTable(columns, items, await this.#look()));
    if (items.length === 0 && none !== '') await this.#options.io.stderr.write(`${none}\n`);
  }

  /** For a table that is drawn again and again, with a margin: its lines, the heading first. */
  async tableLines<T>(
    view: View<T>,
  ): Promise<(items: readonly T[], margin: number) => readonly string[]> {
    const look = await this.#look();
    const { io, now } = this.#options;
    const columns = this.#shownColumns(view, view.table);
    return (items, margin) => {
      if (items.length === 0) return [`no ${pluralOf(view.noun)}`];
      const width = (io.stdout.columns || UNKNOWN_COLUMNS) - margin;
      return renderTable(columns, items, { ...look, width, nowMs: now() })
        .trimEnd()
        .split('\n');
    };
  }

  async bulk({ items, ...counts }: BulkResult): Promise<void> {
    const printed = this.#base === 'id' ? items.filter(({ ok }) => ok) : items;
    await this.list(bulkView, printed, counts, 'nothing matched');
  }

  async item<T>(view: View<T>, item: T, extra: Record<string, unknown> = {}): Promise<void> {
    const { fields } = this.#options.globals;
    if (isForPrograms(this.#base)) {
      const record = this.redacted({ ...jsonRecord(view, item, fields), ...extra });
      return await this.write(this.#base === 'json' ? jsonDocument(record) : jsonLine(record));
    }
    if (this.#base !== 'table') return await this.write(this.#rows(view, [item], this.#base));
    const all = this.#shownColumns(view, undefined);
    const shown = fields ? all : all.filter((field) => !isEmpty(valueOf(field, item)));
    await this.write(renderPairs(shown, item, await this.#look()));
  }

  /** On a terminal the line, elsewhere the record. */
  async change<T>(view: View<T>, record: T, changed: boolean, line: string): Promise<void> {
    if (this.isPlain) await this.text([[{ text: line }]]);
    else await this.item(view, record, { changed });
  }

  /** In one write. Of a list that goes out in parts: rows in a format of one line an item. */
  async lines<T>(view: View<T>, items: readonly T[]): Promise<void> {
    const { globals } = this.#options;
    const format = this.#kind === 'list' ? this.#base : (globals.format ?? 'table');
    const { line } = view;
    if (format !== 'table' || globals.fields || !line)
      return await this.write(this.#rows(view, items, format));
    await this.text(items.map(line), view.lineIndent);
  }

  async text(rows: readonly (readonly LinePart[])[], indent?: number): Promise<void> {
    const parts = rows.map((row) =>
      row.map((part) => ({ ...part, text: this.#options.redact(part.text) })),
    );
    await this.write(renderLines(parts, await this.#look(), indent));
  }

  /** Nothing in plain text when `plain` is absent. */
  async record(record: Record<string, unknown>, plain?: string): Promise<void> {
    const { format = 'table' } = this.#options.globals;
    if (isForPrograms(format)) return await this.write(jsonLine(this.redacted(record)));
    if (format !== 'table' || plain === undefined) return;
    const look = { width: Infinity, palette: NO_COLORS };
    await this.write(renderLines([[{ text: this.#options.redact(plain) }]], look));
  }

  async documents(values: readonly unknown[]): Promise<void> {
    const text = this.#base === 'ndjson' ? jsonLine : jsonDocument;
    await this.write(values.map((value) => text(this.redacted(value))).join(''));
  }

  /** Without secrets, for texts that go to `raw`. */
  redacted<T>(value: T): T {
    return mapStrings(value, this.#options.redact, this.#options.isRedacted) as T;
  }

  /** A stream without any item still creates the file of --output; a dry run creates none. */
  override async close(): Promise<void> {
    if (this.#kind !== null && this.#options.globals.mode !== 'dry-run') await this.put('');
    await super.close();
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
      const record = jsonRecord(view, item, globals.fields);
      return isRedacted(item as object) ? record : this.redacted(record);
    });
  }

  #columns<T>(view: View<T>, preset: readonly string[] | undefined): Field<T>[] {
    const names = this.#options.globals.fields ?? preset ?? view.fields.map(({ name }) => name);
    return chosenFields(view, names).map((field) => ({
      ...field,
      get: (item) => this.redacted(valueOf(field, item)),
    }));
  }

  #shownColumns<T>(view: View<T>, preset: readonly string[] | undefined): Field<T>[] {
    const columns = this.#columns(view, preset);
    if (this.#options.globals.fields) return columns;
    return columns.map(({ show, ...field }) =>
      show ? { ...field, get: (item) => this.redacted(show(item)) } : field,
    );
  }

  async #look(): Promise<Look> {
    const { io, palette, now } = this.#options;
    return {
      width: this.onTerminal ? io.stdout.columns || UNKNOWN_COLUMNS : Infinity,
      // On a pipe there are colours only with FORCE_COLOR (for `less -R`), in a file never.
      palette: this.target === 'stdout' ? await palette() : NO_COLORS,
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

const RAW: ReadonlySet<OutputKind> = new Set(['raw', 'document']);

const REFUSED_FORMATS: Partial<Record<OutputKind, readonly Format[]>> = {
  raw: FORMATS,
  document: ['table', 'tsv', 'id'],
  stream: ['table'],
};

function checkFormat<T>(
  view: View<T> | null,
  kind: OutputKind,
  { format, fields, jq }: OutputFlags,
): void {
  const isRaw = RAW.has(kind);
  if (format && REFUSED_FORMATS[kind]?.includes(format)) {
    if (!isRaw)
      throw new AppError('usage', 'a stream cannot be printed as a table', {
        hint: 'omit --format for plain lines, or use tsv, ndjson or id',
      });
    const flag = jq === undefined ? `--format ${format}` : '--jq';
    throw new AppError('usage', `this command prints raw data and has no ${flag}`);
  }
  if (!fields) return;
  if (isRaw) throw new AppError('usage', 'this command prints raw data and has no --fields');
  if (!view) throw new AppError('usage', 'this command has no --fields');
  if (format === 'id') throw new AppError('usage', '-q (ids only) and --fields cannot be combined');
  chosenFields(view, fields);
}

function checkFile(output: string | undefined, cwd: string): void {
  if (output === undefined || output === '-') return;
  if (output === '')
    throw new AppError('usage', '--output needs the name of a file, or - for stdout');
  if ([...FORMATS, 'yaml', 'wide', 'csv'].includes(output)) {
    const [what, use] = FORMATS.some((format) => format === output)
      ? ['a format', output === 'json' ? 'use --json' : `use --format ${output}`]
      : ['not a format of acs', `--format takes ${FORMATS.join(', ')}`];
    throw new AppError('usage', `-o takes a file, and "${output}" is ${what}`, {
      hint: `${use}; for a file of that name: -o ./${output}`,
    });
  }
  const file = path.resolve(cwd, output);
  if (isFolder(file))
    throw cannotWrite(output, { reason: 'it is a folder', hint: 'name a file in it' });
  if (!isFolder(path.dirname(file))) throw cannotWrite(output, NO_FOLDER);
}

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}
