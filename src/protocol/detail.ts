/** Mistakes as `{type, loc, msg}` (interface 8.1), with the messages of valibot. */
import * as v from 'valibot';

export interface Detail {
  type: string;
  /** Where: `body`, `query` or `path`, then keys and indexes. */
  loc: (string | number)[];
  msg: string;
  /** Never what may hold a secret. */
  input?: unknown;
  ctx?: Record<string, unknown>;
}

export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  part: 'body' | 'query' | 'path',
): { ok: true; value: v.InferOutput<Schema> } | { ok: false; detail: Detail[] } {
  const result = v.safeParse(schema, value);
  if (result.success) return { ok: true, value: result.output };
  return { ok: false, detail: result.issues.map((issue) => toDetail(issue, part)) };
}

const CTX: Readonly<Record<string, string>> = {
  greater_than: 'gt',
  greater_than_equal: 'ge',
  less_than_equal: 'le',
  string_too_short: 'min_length',
  string_too_long: 'max_length',
  string_pattern_mismatch: 'pattern',
  enum: 'expected',
  literal_error: 'expected',
  uuid_parsing: 'error',
  datetime_from_date_parsing: 'error',
};

function ctxOf(
  type: string,
  msg: string,
  { requirement, expected }: v.BaseIssue<unknown>,
): Pick<Detail, 'ctx'> {
  // Genuine servers replace the exception of a `value_error` by an empty object.
  if (type === 'value_error') return { ctx: { error: msg.startsWith('Unknown kind') ? msg : {} } };
  const name = CTX[type];
  if (name === undefined) return {};
  const bound = requirement instanceof RegExp ? requirement.source : requirement;
  const values: Record<string, unknown> = { gt: 0, expected, error: msg };
  const value = values[name] ?? bound;
  return value == null ? {} : { ctx: { [name]: value } };
}

/** Keys are the types of valibot; a message that begins with `<type>: ` names its own. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'string_type',
  array: 'list_type',
  object: 'model_attributes_type',
  strict_object: 'model_attributes_type',
  loose_object: 'model_attributes_type',
  record: 'dict_type',
  picklist: 'enum',
  min_value: 'greater_than_equal',
  max_value: 'less_than_equal',
  min_length: 'string_too_short',
  max_length: 'string_too_long',
  regex: 'string_pattern_mismatch',
};

function toDetail(issue: v.BaseIssue<unknown>, part: string): Detail {
  const loc = [part, ...(issue.path ?? []).map((item) => item.key as string | number)];
  if (issue.received === 'undefined' && issue.input === undefined)
    return { type: 'missing', loc, msg: 'Field required' };
  if (issue.type === 'strict_object' && issue.expected === 'never')
    return { type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted' };
  const [, type, own] = /^(missing|[a-z]+(?:_[a-z]+)+): ([^]*)$/.exec(issue.message) ?? [];
  // What was received may be a secret.
  const msg = own ?? issue.message.replace(/ but received [^]*$/, '');
  const named = type ?? TYPES[issue.type] ?? 'value_error';
  const detail: Detail = { type: named, loc, msg, ...ctxOf(named, msg, issue) };
  if (issue.path?.at(-1)?.origin !== 'key') return detail;
  return { ...detail, loc: [...loc, '[key]'], input: issue.input };
}

/** No valid body is deeper, and the functions that traverse a value recurse once per level. */
const DEEPEST = 200;

export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((each): unknown[] =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    );
  }
  return false;
}

const jsonInvalid = (error: string, ...position: number[]): Detail[] => [
  { type: 'json_invalid', loc: ['body', ...position], msg: 'JSON decode error', ctx: { error } },
];

export const tooDeep = () => jsonInvalid('nested too deeply');

export const malformedJson = (position: number) => jsonInvalid('not JSON', position);

export function missingBody(): Detail[] {
  return [{ type: 'missing', loc: ['body'], msg: 'Field required' }];
}

export const text = v.string();
export const list = v.array;
export const oneOf = v.picklist;
export const maybe = v.nullish;

/** Refuses a list, which to valibot is an object, too. */
export function notList<Schema extends v.GenericSchema>(schema: Schema, type: string): Schema {
  const run = schema['~run'].bind(schema);
  const refusal = v.never(`${type}: Invalid type: Expected Object`);
  return Object.assign(schema, {
    '~run': (...[dataset, config]: Parameters<typeof run>) =>
      Array.isArray(dataset.value) ? refusal['~run'](dataset, config) : run(dataset, config),
  });
}

export const record = <Entries extends v.ObjectEntries>(entries: Entries) =>
  notList(v.object(entries), 'model_attributes_type');

export const openRecord = <Entries extends v.ObjectEntries>(entries: Entries) =>
  notList(v.looseObject(entries), 'model_attributes_type');

export const closedRecord = <Entries extends v.ObjectEntries>(entries: Entries) =>
  notList(v.strictObject(entries), 'model_attributes_type');

export const mapOf = <Value extends v.GenericSchema>(value: Value) =>
  notList(v.record(v.string(), value), 'dict_type');

export const dictionary = mapOf(v.unknown());

/** A member that is a literal at genuine servers has another error type. */
export const literal = <const Options extends readonly string[]>(options: Options) =>
  v.picklist(
    options,
    `literal_error: Invalid type: Expected ${options.map((each) => `"${each}"`).join(' | ')}`,
  );

/** `read` returns null for what is refused; `expected`: the type in JSON Schema. */
const parsed = <Value>(
  expected: string,
  read: (input: unknown) => Value | null,
  typeOf: (input: unknown) => string,
) =>
  v.pipe(
    v.unknown(),
    v.rawTransform<unknown, Value>(({ dataset, addIssue, NEVER }) => {
      const value = read(dataset.value);
      if (value !== null) return value;
      addIssue({
        message: `${typeOf(dataset.value)}: Invalid type: Expected ${expected}`,
        input: dataset.value,
      });
      return NEVER;
    }),
    v.metadata({ type: expected }),
  );

/** A whole number; a text that is one counts, as genuine servers take it. */
export const integer = parsed(
  'integer',
  (input) => {
    const isText = typeof input === 'string' && /^\s*[+-]?\d+\s*$/.test(input);
    const value = isText ? Number(input) : input;
    return Number.isSafeInteger(value) ? Number(value) : null;
  },
  (input) =>
    ({ string: 'int_parsing', number: 'int_from_float' })[typeof input as string] ?? 'int_type',
);

export const integerFrom = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  v.pipe(integer, v.minValue(min), v.maxValue(max));

/** To genuine servers the lower bound of `limit` is 0, excluded. */
const pageLimit = v.pipe(
  integer,
  v.minValue(1, 'greater_than: Invalid value: Expected >0'),
  v.maxValue(100),
);

/** The members of a query for a page of a list. */
export const page = (limit = 100) => ({
  page_id: v.optional(text),
  limit: v.optional(pageLimit, limit),
});

export const number = parsed(
  'number',
  (input) => {
    const value = typeof input === 'string' && input.trim() !== '' ? Number(input) : input;
    return Number.isFinite(value) ? Number(value) : null;
  },
  (input) => (typeof input === 'string' ? 'float_parsing' : 'float_type'),
);

const BOOLEANS = new Map([
  ...['true', '1', 'yes', 'on', 't', 'y'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', 'f', 'n'].map((word) => [word, false] as const),
]);

/** True or false; the words for it count, as genuine servers take them. */
export const truth = parsed(
  'boolean',
  (input) =>
    typeof input === 'object' ? null : (BOOLEANS.get(String(input).toLowerCase()) ?? null),
  (input) => (['number', 'string'].includes(typeof input) ? 'bool_parsing' : 'bool_type'),
);

const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/i;

/** Comes out as 32 hexadecimal digits. */
export const uuid = v.pipe(
  text,
  v.regex(
    UUID,
    'uuid_parsing: Invalid UUID: Expected 32 hexadecimal digits, with or without dashes',
  ),
  v.transform((id) => id.replaceAll('-', '').toLowerCase()),
);

export function toHexId(id: string): string | null {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : null;
}

export function toDashedId(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const TIME =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Naive times are UTC; comes out as RFC 3339 with microseconds and `Z`. */
export const time = v.pipe(
  text,
  v.check(
    (input) => toStamp(input) !== null,
    'datetime_from_date_parsing: Invalid time: Expected RFC 3339',
  ),
  v.transform((input) => toStamp(input) ?? input),
  v.metadata({ format: 'date-time' }),
);

function toStamp(input: string): string | null {
  // A plus sign in a query arrives as a space.
  const written = input
    .trim()
    .replace(/ (\d{2}:?\d{2})$/, (whole, zone: string) =>
      input.includes('T') ? `+${zone}` : whole,
    );
  if (!TIME.test(written)) return null;
  const fraction = /\.(\d+)/.exec(written)?.[1] ?? '';
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(written) && written.length > 10;
  const plain = written.replace(/\.\d+/, '').replace(' ', 'T');
  const millis = Date.parse(hasZone || plain.length <= 10 ? plain : `${plain}Z`);
  if (Number.isNaN(millis)) return null;
  return new Date(millis)
    .toISOString()
    .replace('.000Z', `.${fraction.slice(0, 6).padEnd(6, '0')}Z`);
}

export const textThat = (rule: (value: string) => boolean, message: string) =>
  v.pipe(text, v.check(rule, message));

/** Text without a null character: the driver of the database ends a text there when it reads it. */
export const storableText = textThat(
  (value) => !value.includes('\0'),
  'a null character cannot be stored',
);

export const textLike = (pattern: RegExp) => v.pipe(text, v.regex(pattern));

export const textOf = (min: number, max: number) =>
  v.pipe(text, v.minLength(min), v.maxLength(max));

export const filledList = <Item extends v.GenericSchema>(item: Item) =>
  v.pipe(list(item), v.minLength(1, 'too_short: Invalid length: Expected >=1'));

/** An object of one of these kinds; `family`: the class that servers name in a refusal. */
export const kindOf = (family: string, kinds: readonly string[]) =>
  v.pipe(
    openRecord({}),
    v.check(
      ({ kind }) => kinds.some((each) => each === kind),
      `Unknown kind for ${family}: Expected ${kinds.join(' | ')}`,
    ),
  );

/** Accepts any value; the schema is kept for the documents that are generated from it. */
function unchecked(schema: v.GenericSchema): v.GenericSchema<unknown> {
  const { '~run': run } = v.unknown();
  return Object.assign(schema, { '~run': run });
}

/** The options have the names of genuine servers. The error lists the mismatches of all. */
export const anyOf = <const Options extends Record<string, v.GenericSchema>>(options: Options) =>
  v.pipe(
    unchecked(v.union(Object.values(options))),
    v.rawTransform<unknown, v.InferOutput<Options[keyof Options]>>(
      ({ dataset, addIssue, NEVER }) => {
        const details: Detail[] = [];
        for (const [name, option] of Object.entries(options)) {
          const result = check(option, dataset.value, 'body');
          if (result.ok) return result.value;
          details.push(
            ...result.detail.map((detail) => ({ ...detail, loc: [name, ...detail.loc.slice(1)] })),
          );
        }
        for (const { type, msg, loc } of details) {
          const path = loc.map((key) => ({
            type: 'unknown',
            origin: 'value',
            input: null,
            key,
            value: null,
          }));
          addIssue({ message: `${type}: ${msg}`, input: null, path: path as [v.UnknownPathItem] });
        }
        return NEVER;
      },
    ),
  );
