import { statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../base/errors.ts';
import { fileDestination } from './destination.ts';
import { jsonDocument, jsonLine, jsonLines, jsonList, mapStrings } from './json.ts';
import type { JqFilter } from './jq.ts';
import { exactCell, renderLines, renderPairs, renderTable, type Look } from './render.ts';
import { noticeLine, NO_COLORS, type Palette } from '../base/text/notice.ts';
import {
  bulkView,
  chosenFields,
  recordOf,
  type BulkResult,
  type Field,
  type View,
  valueOf,
} from './view.ts';
import { createSafeStream, safeLine } from '../base/text/safe-text.ts';

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

interface EmitterOptions {
  io: {
    stdout: {
      write(chunk: string | Uint8Array): Promise<void>;
      readonly isTTY: boolean;
      readonly columns: number | undefined;
    };
    stderr: { write(chunk: string): Promise<void> };
  };
  globals: EmitterSettings;
  jq?: { file: string; signal: AbortSignal };
  cwd?: string;
  now: () => number;
  /** Colours of stdout; called only for tables and plain lines. */
  palette?: () => Promise<Palette>;
  redact?: (text: string) => string;
  isRedacted?: (value: object) => boolean;
  /** Writes to the terminal through the pager. */
  page?: (text: string) => Promise<void>;
}

export interface Emitter {
  /** The deadline of the command: --jq ends by it, or 5 s later. */
  endBy(deadlineMs: number): void;
  prepare(): Promise<void>;
  check<T>(view: View<T> | null, kind: OutputKind): void;
  /** Text on a terminal goes through the pager, each write by itself. */
  page(): void;
  list<T>(view: View<T>, items: readonly T[], page: { has_more: boolean }): Promise<void>;
  item<T>(view: View<T>, item: T, extra?: Record<string, unknown>): Promise<void>;
  bulk(result: BulkResult): Promise<void>;
  /**
   * Written at once in one write. Of a list that goes out in parts: its rows in a format of one
   * line an item.
   */
  lines<T>(view: View<T>, items: readonly T[]): Promise<void>;
  /** Nothing in plain text when `plain` is absent. */
  record(record: Record<string, unknown>, plain?: string): Promise<void>;
  /** Bytes as they are; made safe on a terminal. */
  raw(bytes: string | Uint8Array): Promise<void>;
  documents(values: readonly unknown[]): Promise<void>;
  /** Without secrets, for texts that go to `raw`. */
  redacted<T>(value: T): T;
  close(): Promise<void>;
  abandon(): Promise<void>;
  readonly onTerminal: boolean;
  /** After `check` of a stream, json is ndjson. */
  readonly format: Format;
}

const UNKNOWN_COLUMNS = 80;

export function createEmitter(options: EmitterOptions): Emitter {
  const {
    io,
    globals,
    cwd = '.',
    now,
    palette,
    redact = (text) => text,
    isRedacted = () => false,
  } = options;
  const { format: asked, fields } = globals;
  const file =
    globals.output === undefined || globals.output === '-'
      ? null
      : fileDestination(globals.output, cwd);
  const onTerminal = io.stdout.isTTY && file === null;
  const safeStream = onTerminal ? createSafeStream() : null;
  const format: Format = asked ?? (onTerminal ? 'table' : 'tsv');
  let kind: OutputKind | null = null;
  let deadlineMs = Infinity;
  let filter: Promise<JqFilter> | null = null;
  let toTerminal = (chunk: string | Uint8Array): Promise<void> => io.stdout.write(chunk);

  const put = async (chunk: string | Uint8Array): Promise<void> => {
    if (file !== null) await file.write(chunk);
    else if (chunk.length > 0) await toTerminal(chunk);
  };
  const raw = (chunk: string | Uint8Array): Promise<void> => put(safeStream?.push(chunk) ?? chunk);
  const jq = (): Promise<JqFilter> =>
    (filter ??= import('./jq.ts').then(({ createJqFilter }) => {
      if (options.jq === undefined) throw new AppError('internal', '--jq has no file to run');
      const notice = (text: string) => io.stderr.write(noticeLine(text, 'json'));
      // The outcome is written near the deadline, or after it.
      const limitMs = () =>
        Math.min(globals.requestTimeoutMs ?? 30_000, Math.max(deadlineMs - options.now(), 5_000));
      return createJqFilter({
        ...options.jq,
        limitMs,
        expression: globals.jq ?? '.',
        onTerminal,
        print: raw,
        notice,
      });
    }));
  const write = async (text: string | Uint8Array): Promise<void> =>
    globals.jq === undefined ? await put(text) : await (await jq()).write(text);

  const redactValue = (value: unknown) => mapStrings(value, redact, isRedacted);
  const records = <T>(view: View<T>, items: readonly T[]): unknown[] =>
    items.map((item) => {
      const record = recordOf(view, item, fields);
      return isRedacted(item as object) ? record : redactValue(record);
    });
  const columns = <T>(view: View<T>, names: readonly string[] | undefined): Field<T>[] => {
    const chosen = chosenFields(view, fields ?? names ?? view.fields.map(({ name }) => name));
    return chosen.map((field) => ({
      ...field,
      get: (item: T) => redactValue(valueOf(field, item)),
    }));
  };
  const look = async (): Promise<Look> => ({
    width: onTerminal ? io.stdout.columns || UNKNOWN_COLUMNS : Number.POSITIVE_INFINITY,
    // On a pipe there are colours only with FORCE_COLOR (for `less -R`), in a file never.
    palette: file === null && palette ? await palette() : NO_COLORS,
    nowMs: now(),
  });
  const rows = <T>(view: View<T>, items: readonly T[], format: Format): string | Uint8Array => {
    if (format === 'json' || format === 'ndjson') return jsonLines(records(view, items));
    const fields = columns(view, view.tsv);
    const row = (item: T): string => fields.map((field) => exactCell(field, item)).join('\t');
    const lines =
      format === 'id'
        ? items.map((item) => safeLine(view.id(item))).filter(Boolean)
        : items.map(row);
    return lines.map((line) => `${line}\n`).join('');
  };
  const list = async <T>(
    view: View<T>,
    items: readonly T[],
    members: object,
    none: string,
  ): Promise<void> => {
    if (format === 'json') return await write(jsonList(records(view, items), redactValue(members)));
    if (format !== 'table') return await write(rows(view, items, format));
    await write(
      items.length === 0 ? '' : renderTable(columns(view, view.table), items, await look()),
    );
    if (items.length === 0) await io.stderr.write(`${none}\n`);
  };

  return {
    onTerminal,
    get format() {
      return kind === 'stream' && asked === 'json' ? 'ndjson' : format;
    },
    endBy(atMs) {
      deadlineMs = atMs;
    },
    async prepare() {
      if (globals.jq !== undefined) await (await jq()).check();
    },
    check(view, checked) {
      checkFile(globals.output, cwd);
      checkFormat(view, checked, globals);
      kind = checked;
    },
    page() {
      const { page } = options;
      if (page !== undefined && onTerminal && format === 'table')
        toTerminal = (chunk) => page(chunk.toString());
    },
    async list(view, items, page) {
      const { noun } = view;
      const plural = /[^aeiou]y$/.test(noun)
        ? `${noun.slice(0, -1)}ies`
        : `${noun}${/(?:s|x|ch|sh)$/.test(noun) ? 'es' : 's'}`;
      await list(view, items, page, `no ${plural}`);
    },
    bulk: ({ items, ...counts }) =>
      list(
        bulkView,
        format === 'id' ? items.filter(({ ok }) => ok) : items,
        counts,
        'nothing matched',
      ),
    async item(view, item, extra = {}) {
      if (format === 'json' || format === 'ndjson') {
        const record = redactValue({ ...recordOf(view, item, fields), ...extra });
        return await write(format === 'json' ? jsonDocument(record) : jsonLine(record));
      }
      if (format !== 'table') return await write(rows(view, [item], format));
      const all = columns(view, undefined);
      const isEmpty = (value: unknown) =>
        value == null || value === '' || (Array.isArray(value) && value.length === 0);
      const shown = fields ? all : all.filter((field) => !isEmpty(valueOf(field, item)));
      await write(renderPairs(shown, item, await look()));
    },
    async lines(view, items) {
      const chosen = kind === 'list' ? format : (asked ?? 'table');
      const { line } = view;
      if (chosen !== 'table' || fields || !line) return await write(rows(view, items, chosen));
      const parts = items.map((item) =>
        line(item).map((part) => ({ ...part, text: redact(part.text) })),
      );
      await write(renderLines(parts, await look(), view.lineIndent));
    },
    async record(record, plain) {
      if (asked === 'json' || asked === 'ndjson') return await write(jsonLine(redactValue(record)));
      if ((asked === undefined || asked === 'table') && plain !== undefined)
        await write(
          renderLines([[{ text: redact(plain) }]], { width: Infinity, palette: NO_COLORS }),
        );
    },
    raw,
    async documents(values) {
      const text = format === 'ndjson' ? jsonLine : jsonDocument;
      await write(values.map((value) => text(redactValue(value))).join(''));
    },
    redacted: <T>(value: T) => redactValue(value) as T,
    async close() {
      // A stream without any item still creates the file of --output; a dry run creates none.
      if (kind !== null && globals.mode !== 'dry-run') await put('');
      if (safeStream !== null) await put(safeStream.end());
      await file?.close();
      await (await filter)?.close();
    },
    async abandon() {
      await file?.abandon();
      await (await filter)?.close();
    },
  };
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
  const format = FORMATS.find((known) => known === output);
  if (format)
    throw new AppError('usage', `-o takes a file, and "${output}" is a format`, {
      hint:
        `${format === 'json' ? 'use --json' : `use --format ${format}`}; for a file of that ` +
        `name: -o ./${output}`,
    });
  if (['yaml', 'wide', 'csv'].includes(output))
    throw new AppError('usage', `-o takes a file, and "${output}" is not a format of acs`, {
      hint: `--format takes ${FORMATS.join(', ')}; for a file of that name: -o ./${output}`,
    });
  const isFolder = (name: string): boolean | undefined => {
    try {
      return statSync(name, { throwIfNoEntry: false })?.isDirectory();
    } catch {
      return undefined; // a part of its path is a file
    }
  };
  const file = path.resolve(cwd, output);
  if (isFolder(file))
    throw new AppError('config', `cannot write ${output}: it is a folder`, {
      hint: 'name a file in it',
    });
  if (!isFolder(path.dirname(file)))
    throw new AppError('config', `cannot write ${output}: its folder does not exist`, {
      hint: 'create the folder, or choose another one',
    });
}
