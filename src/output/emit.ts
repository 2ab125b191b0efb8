/**
 * Data on its way out. Commands hand over records and a view; format, --fields, --output and safety are decided here.
 * `createEmitter` makes the one of a context; what a table needs is loaded when there is one.
 */
import { NO_COLORS, type Palette } from '../text/palette.ts';
import { createSafeStream, safeMultiline } from '../text/safe-text.ts';
import { bulkView } from './bulk.ts';
import { checkOutput } from './check.ts';
import { type Destination, fileDestination, streamDestination } from './destination.ts';
import { chosenFields, namedFields, recordOf } from './fields.ts';
import { jsonDocument, jsonLine, mapStrings } from './json.ts';
import { type Look, renderIds, renderLine, renderPairs, renderTable, renderTsv } from './render.ts';
import type { Field, View } from './view.ts';

/**
 * What commands write data with. Format, --fields, --output and safety are decided here, never in a command.
 * A format that makes no sense for the call throws `usage`; an unknown field throws `usage` and lists the known ones.
 */
export interface Emitter {
  /** Fails early, before any request, when the format or --fields do not fit. */
  check<T>(view: View<T> | null, kind: OutputKind): void;
  list<T>(view: View<T>, items: readonly T[], page: { has_more: boolean }): Promise<void>;
  item<T>(view: View<T>, item: T, extra?: Record<string, unknown>): Promise<void>;
  bulk(result: BulkResult): Promise<void>;
  /** One item of a stream as soon as it exists: a plain line, or one JSON object a line. */
  line<T>(view: View<T>, item: T): Promise<void>;
  /** An object of its own in a JSON stream, or nothing in plain text when `plain` is absent. */
  record(record: Record<string, unknown>, plain?: string): Promise<void>;
  /** Bytes as they are; made safe on a terminal. */
  raw(bytes: string | Uint8Array): Promise<void>;
  /** Ends the output: flushes, renames the temporary file of --output. */
  close(): Promise<void>;
  /** Drops the temporary file of --output. */
  abandon(): Promise<void>;
  /** The format in force. After `check` of a stream, json is ndjson there. */
  readonly format: Format;
}

export type Format = 'table' | 'tsv' | 'json' | 'ndjson' | 'id';

export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw';

export interface BulkItem {
  id: string;
  profile?: string;
  ok: boolean;
  changed: boolean;
  before: string | null;
  after: string | null;
  error: { code: string; message: string } | null;
}

export interface BulkResult {
  items: BulkItem[];
  matched: number;
  failed: number;
}

/** The part of the global flags that is about output. */
export interface EmitterSettings {
  format?: Format;
  fields?: readonly string[];
  output?: string;
}

export interface EmitterOptions {
  io: { stdout: EmitterStream; stderr: { write(chunk: string): Promise<void> } };
  globals: EmitterSettings;
  /** Folder that --output is relative to. */
  cwd?: string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Colours of stdout; asked for only when a terminal is written to. None: no colours. */
  palette?: () => Promise<Palette>;
  /** Applied to every text but raw bytes, as the last net for secrets in free text (`createRedactor(…).text`). */
  redact?: (text: string) => string;
}

export interface EmitterStream {
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  readonly columns: number | undefined;
}

/** How many columns a terminal has that does not tell. */
const UNKNOWN_COLUMNS = 80;

export function createEmitter(options: EmitterOptions): Emitter {
  const { stdout, stderr } = options.io;
  const { globals, cwd = '.' } = options;
  const redact = options.redact ?? ((text: string) => text);
  let kind: OutputKind | null = null;
  let destination: Destination | null = null;
  let safeStream: ReturnType<typeof createSafeStream> | null = null;

  const file = (): string | null => {
    return globals.output === undefined || globals.output === '-' ? null : globals.output;
  };
  const onTerminal = (): boolean => stdout.isTTY && file() === null;
  const format = (): Format => {
    const asked = globals.format ?? (onTerminal() ? 'table' : 'tsv');
    return kind === 'stream' && asked === 'json' ? 'ndjson' : asked;
  };
  const write = (chunk: string | Uint8Array): Promise<void> => {
    const name = file();
    destination ??= name === null ? streamDestination(stdout) : fileDestination(name, cwd);
    return destination.write(chunk);
  };
  const look = async (): Promise<Look> => ({
    width: onTerminal() ? (stdout.columns ?? UNKNOWN_COLUMNS) : Number.POSITIVE_INFINITY,
    palette: onTerminal() && options.palette ? await options.palette() : NO_COLORS,
    nowMs: options.now(),
  });
  const toJson = (value: unknown): unknown => (options.redact ? mapStrings(value, redact) : value);
  const fieldsFor = <T>(view: View<T>, names: readonly string[]): Field<T>[] => {
    const { fields } = globals;
    const chosen = fields ? chosenFields(view, fields) : namedFields(view, names);
    return options.redact ? chosen.map((field) => redacted(field, redact)) : chosen;
  };
  const record = <T>(view: View<T>, item: T) => recordOf(view, item, globals.fields);

  const emitter: Emitter = {
    get format() {
      return format();
    },
    check(view, checked) {
      checkOutput(view, checked, globals, cwd);
      kind = checked;
    },
    async list(view, items, page) {
      switch (format()) {
        case 'json':
          return write(jsonDocument(toJson({ items: items.map((item) => record(view, item)), ...page })));
        case 'ndjson':
          return write(items.map((item) => jsonLine(toJson(record(view, item)))).join(''));
        case 'id':
          return write(renderIds(view, items));
        case 'tsv':
          return write(renderTsv(fieldsFor(view, view.tsv), items));
        case 'table':
          if (items.length > 0) return write(await renderTable(fieldsFor(view, view.table), items, await look()));
          await write('');
          return stderr.write(`no ${plural(view.noun)}\n`);
      }
    },
    async item(view, item, extra = {}) {
      switch (format()) {
        case 'json':
          return write(jsonDocument(toJson({ ...record(view, item), ...extra })));
        case 'ndjson':
          return write(jsonLine(toJson({ ...record(view, item), ...extra })));
        case 'id':
          return write(renderIds(view, [item]));
        case 'tsv':
          return write(renderTsv(fieldsFor(view, view.tsv), [item]));
        case 'table': {
          const all = view.fields.map((field) => field.name);
          const fields = fieldsFor(view, all);
          const told = globals.fields ? fields : fields.filter((field) => hasValue(field.get(item)));
          return write(await renderPairs(told, item, await look()));
        }
      }
    },
    async bulk(result) {
      const { items } = result;
      if (format() === 'json')
        return write(
          jsonDocument(
            toJson(globals.fields ? { ...result, items: items.map((item) => record(bulkView, item)) } : result),
          ),
        );
      if (format() === 'id')
        return write(
          renderIds(
            bulkView,
            items.filter((item) => item.ok),
          ),
        );
      if (format() === 'table' && items.length === 0) {
        await write('');
        return stderr.write('nothing matched\n');
      }
      const withProfile = items.some((item) => item.profile !== undefined);
      const view = withProfile ? { ...bulkView, table: ['profile', ...bulkView.table] } : bulkView;
      return emitter.list(view, items, { has_more: false });
    },
    async line(view, item) {
      const { format: asked, fields } = globals;
      switch (asked) {
        case 'json':
        case 'ndjson':
          return write(jsonLine(toJson(record(view, item))));
        case 'id':
          return write(renderIds(view, [item]));
        default:
          if (asked === 'tsv' || fields || !view.line) return write(renderTsv(fieldsFor(view, view.tsv), [item]));
          return write(
            renderLine(
              view.line(item).map((part) => ({ ...part, text: redact(part.text) })),
              (await look()).palette,
            ),
          );
      }
    },
    async record(value, plain) {
      const { format: asked } = globals;
      if (asked === 'json' || asked === 'ndjson') return write(jsonLine(toJson(value)));
      if (plain !== undefined && asked !== 'id' && asked !== 'tsv') return write(`${safeMultiline(redact(plain))}\n`);
    },
    async raw(bytes) {
      if (!onTerminal()) return write(bytes);
      safeStream ??= createSafeStream();
      return write(safeStream.push(bytes));
    },
    async close() {
      if (safeStream) await write(safeStream.end());
      safeStream = null;
      await destination?.close();
      destination = null;
    },
    async abandon() {
      await destination?.abandon();
      destination = null;
    },
  };
  return emitter;
}

function redacted<T>(field: Field<T>, redact: (text: string) => string): Field<T> {
  return { ...field, get: (item) => mapStrings(field.get(item), redact) };
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
}

function plural(noun: string): string {
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}
