/**
 * Data on its way out. Commands hand over records and a view; format, --fields, --output and safety are decided here.
 * `createEmitter` makes the one of a context; what a table needs is loaded when there is one.
 */
import { safeMultiline } from '../text/safe-text.ts';
import { bulkViewFor } from './bulk.ts';
import { checkOutput } from './check.ts';
import { jsonDocument, jsonLine, mapStrings } from './json.ts';
import type { JqFilter } from './jq.ts';
import { createOutlet } from './outlet.ts';
import { itemText, linesText, listText, type Shape } from './shape.ts';
import type { View } from './view.ts';
import type { BulkResult } from './bulk.ts';
import type { Format, OutputKind, EmitterOptions } from './emitter-options.ts';

/**
 * What commands write data with. Format, --fields, --output and safety are decided here, never in a command.
 * A format that makes no sense for the call throws `usage`; an unknown field throws `usage` and lists the known ones.
 */
export interface Emitter {
  /** Of --jq: throws `usage` for an expression that is none. */
  prepare(): Promise<void>;
  /** Fails early, before any request, when the format or --fields do not fit. */
  check<T>(view: View<T> | null, kind: OutputKind): void;
  list<T>(view: View<T>, items: readonly T[], page: { has_more: boolean }): Promise<void>;
  item<T>(view: View<T>, item: T, extra?: Record<string, unknown>): Promise<void>;
  bulk(result: BulkResult): Promise<void>;
  /**
   * Items of a stream, written at once in one write: plain lines, or one JSON object a line. For a list that goes out in
   * parts: its rows in a format of one line an item.
   */
  lines<T>(view: View<T>, items: readonly T[]): Promise<void>;
  /** An object of its own in a JSON stream, or nothing in plain text when `plain` is absent. */
  record(record: Record<string, unknown>, plain?: string): Promise<void>;
  /** Bytes as they are; made safe on a terminal. */
  raw(bytes: string | Uint8Array): Promise<void>;
  /** JSON values as they are, without secrets: documents, or lines with ndjson. */
  documents(values: readonly unknown[]): Promise<void>;
  /** The value as `list` and `item` would print its texts: without secrets. For what `raw` is given. */
  redacted<T>(value: T): T;
  /** Ends the output: flushes, renames the temporary file of --output. */
  close(): Promise<void>;
  /** Drops the temporary file of --output. */
  abandon(): Promise<void>;
  /** A person reads the output as it comes. */
  readonly onTerminal: boolean;
  /** The format in force. After `check` of a stream, json is ndjson there. */
  readonly format: Format;
}

export function createEmitter(options: EmitterOptions): Emitter {
  const { io, globals, cwd = '.', redact = (text) => text, isRedacted = () => false } = options;
  const outlet = createOutlet(options);
  let filter: Promise<JqFilter> | null = null;
  const jq = (): Promise<JqFilter> =>
    (filter ??= import('./jq.ts').then((each) => each.createJqFilter(options, outlet)));
  const write = async (text: string | Uint8Array): Promise<void> =>
    globals.jq === undefined ? outlet.write(text) : (await jq()).write(text);
  const asked = globals.format;
  let kind: OutputKind | null = null;
  const format = (): Format => asked ?? (outlet.onTerminal ? 'table' : 'tsv');
  const redactValue = (value: unknown) => mapStrings(value, redact, isRedacted);
  const shape = (): Shape => ({
    format: format(),
    fields: globals.fields,
    redact,
    redactValue,
    isRedacted,
    look: outlet.look,
  });
  const listOr = async (text: string | Uint8Array | null, word: string): Promise<void> => {
    if (text !== null) return await write(text);
    await write('');
    await io.stderr.write(`${word}\n`);
  };

  return {
    async prepare() {
      if (globals.jq !== undefined) await (await jq()).check();
    },
    onTerminal: outlet.onTerminal,
    get format() {
      return kind === 'stream' && asked === 'json' ? 'ndjson' : format();
    },
    check(view, checked) {
      checkOutput(view, checked, globals, cwd);
      kind = checked;
      if (format() === 'table' && TABLES.has(checked)) prepareTable();
    },
    list: async (view, items, page) => listOr(await listText(view, items, page, shape()), `no ${plural(view.noun)}`),
    item: async (view, item, extra = {}) => write(await itemText(view, item, extra, shape())),
    async bulk({ items, matched, failed }) {
      const shown = format() === 'id' ? items.filter((item) => item.ok) : items;
      await listOr(await listText(bulkViewFor(items), shown, { matched, failed }, shape()), 'nothing matched');
    },
    async lines(view, items) {
      // Without a format in the arguments a stream is plain lines, on a pipe too.
      const format = kind === 'list' ? shape().format : (asked ?? 'table');
      await write(await linesText(view, items, { ...shape(), format }));
    },
    async record(record, plain) {
      if (asked === 'json' || asked === 'ndjson') return write(jsonLine(redactValue(record)));
      const isPlain = asked === undefined || asked === 'table';
      if (isPlain && plain !== undefined) await write(`${safeMultiline(redact(plain))}\n`);
    },
    raw: (bytes) => outlet.raw(bytes),
    async documents(values) {
      const text = format() === 'ndjson' ? jsonLine : jsonDocument;
      await write(values.map((value) => text(redactValue(value))).join(''));
    },
    redacted: <T>(value: T) => redactValue(value) as T,
    async close() {
      // A stream without any item still creates the file of --output; a dry run creates none.
      if (kind !== null && globals.mode !== 'dry-run') await outlet.write('');
      await outlet.close();
      await (await filter)?.close();
    },
    async abandon() {
      await outlet.abandon();
      await (await filter)?.close();
    },
  };
}

const TABLES: ReadonlySet<OutputKind> = new Set<OutputKind>(['list', 'bulk']);

/** Once the command waits for its server, which is time to load what the answer will need. */
function prepareTable(): void {
  setImmediate(() => void import('./table.ts').catch(() => undefined)); // a failure is reported when the table is drawn
}

function plural(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}
