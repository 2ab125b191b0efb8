/**
 * The leaves of the schemas of requests. Each carries the wording of the genuine servers as its message, so a schema
 * built from them returns the messages of a genuine server (check.ts).
 */
import * as v from 'valibot';
import { words } from './check.ts';

export { check, isTooDeep, malformedJson, missingBody, tooDeep } from './check.ts';
export type { Detail } from './check.ts';

/** Text. */
export const text = () => v.string(words('string_type', 'Input should be a valid string'));

/** A list. */
export const list = <Item extends v.GenericSchema>(item: Item) =>
  v.array(item, words('list_type', 'Input should be a valid list'));

const OBJECT_EXPECTED = words(
  'model_attributes_type',
  'Input should be a valid dictionary or object to extract fields from',
);
const DICTIONARY_EXPECTED = words('dict_type', 'Input should be a valid dictionary');

/** Refuses a list, which to valibot is an object, too. */
function notList<Schema extends v.GenericSchema>(schema: Schema, problem: string): Schema {
  const run = schema['~run'].bind(schema);
  const refusal = v.never(problem);
  return Object.assign(schema, {
    '~run': (...[dataset, config]: Parameters<typeof run>) =>
      Array.isArray(dataset.value) ? refusal['~run'](dataset, config) : run(dataset, config),
  });
}

/** An object whose unknown members are ignored. */
export const record = <Entries extends v.ObjectEntries>(entries: Entries) =>
  notList(v.object(entries, OBJECT_EXPECTED), OBJECT_EXPECTED);

/** An object that may have no other members. */
export const closedRecord = <Entries extends v.ObjectEntries>(entries: Entries) =>
  notList(v.strictObject(entries, OBJECT_EXPECTED), OBJECT_EXPECTED);

/** An object that keeps its unknown members. */
export const openRecord = () => notList(v.looseObject({}, OBJECT_EXPECTED), OBJECT_EXPECTED);

/** An object of any members. */
export const dictionary = () =>
  v.custom<Record<string, unknown>>(
    (input) => typeof input === 'object' && input !== null && !Array.isArray(input),
    DICTIONARY_EXPECTED,
  );

/** An object from names to values of one kind. */
export const mapOf = <Value extends v.GenericSchema>(value: Value) =>
  notList(v.record(v.string(), value, DICTIONARY_EXPECTED), DICTIONARY_EXPECTED);

/** One of some words. */
export const oneOf = <const Options extends readonly string[]>(options: Options) =>
  v.picklist(options, words('enum', `Input should be ${choices(options)}`, { expected: choices(options) }));

/** The same for a member that is a literal at genuine servers; their error type differs. */
export const literal = <const Options extends readonly string[]>(options: Options) =>
  v.picklist(options, words('literal_error', `Input should be ${choices(options)}`, { expected: choices(options) }));

function choices(options: readonly string[]): string {
  const quoted = options.map((option) => `'${option}'`);
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
}

/** A whole number; a text that is one counts, as genuine servers take it. */
export const integer = () =>
  v.pipe(
    v.unknown(),
    v.rawTransform<unknown, number>(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value;
      const number = typeof input === 'string' && /^\s*[+-]?\d+\s*$/.test(input) ? Number(input) : input;
      if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
      const problem =
        typeof input === 'string'
          ? words('int_parsing', 'Input should be a valid integer, unable to parse string as an integer')
          : typeof input === 'number'
            ? words('int_from_float', 'Input should be a valid integer, got a number with a fractional part')
            : words('int_type', 'Input should be a valid integer');
      addIssue({ message: problem, input });
      return NEVER;
    }),
  );

/** A whole number within bounds, both included. */
export const integerFrom = (min: number, max?: number) =>
  v.pipe(
    integer(),
    v.minValue(min, words('greater_than_equal', `Input should be greater than or equal to ${min}`, { ge: min })),
    v.maxValue(
      max ?? Number.MAX_SAFE_INTEGER,
      words('less_than_equal', `Input should be less than or equal to ${max}`, { le: max }),
    ),
  );

/** The `limit` of a page, from 1 to `max`; genuine servers say "greater than 0". */
export const pageLimit = (max: number) =>
  v.pipe(
    integer(),
    v.minValue(1, words('greater_than', 'Input should be greater than 0', { gt: 0 })),
    v.maxValue(max, words('less_than_equal', `Input should be less than or equal to ${max}`, { le: max })),
  );

/** A number; a text that is one counts. */
export const number = () =>
  v.pipe(
    v.unknown(),
    v.rawTransform<unknown, number>(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value;
      const found = typeof input === 'string' && input.trim() !== '' ? Number(input) : input;
      if (typeof found === 'number' && Number.isFinite(found)) return found;
      const problem =
        typeof input === 'string'
          ? words('float_parsing', 'Input should be a valid number, unable to parse string as a number')
          : words('float_type', 'Input should be a valid number');
      addIssue({ message: problem, input });
      return NEVER;
    }),
  );

const YES = new Set(['true', '1', 'yes', 'on', 't', 'y']);
const NO = new Set(['false', '0', 'no', 'off', 'f', 'n']);

/** True or false; the words for it count, as genuine servers take them. */
export const truth = () =>
  v.pipe(
    v.unknown(),
    v.rawTransform<unknown, boolean>(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value;
      if (typeof input === 'boolean') return input;
      const word = typeof input === 'string' ? input.toLowerCase() : typeof input === 'number' ? String(input) : '';
      if (YES.has(word)) return true;
      if (NO.has(word)) return false;
      const problem =
        typeof input === 'string' || typeof input === 'number'
          ? words('bool_parsing', 'Input should be a valid boolean, unable to interpret input')
          : words('bool_type', 'Input should be a valid boolean');
      addIssue({ message: problem, input });
      return NEVER;
    }),
  );

const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/i;

/** A UUID with or without dashes; comes out as 32 hexadecimal digits. */
export const uuid = () =>
  v.pipe(
    text(),
    v.rawTransform<string, string>(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value;
      if (UUID.test(input)) return input.replaceAll('-', '').toLowerCase();
      const at = [...input].findIndex((letter) => !/[0-9a-f-]/i.test(letter));
      const error =
        at >= 0
          ? `invalid character: found \`${[...input][at]}\` at ${at}`
          : `invalid length: expected length 32 for simple format, found ${input.length}`;
      addIssue({ message: words('uuid_parsing', `Input should be a valid UUID, ${error}`, { error }), input });
      return NEVER;
    }),
  );

/** The 32 hexadecimal digits of a UUID in either form; null when it is none. */
export function toHexId(id: string): string | null {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : null;
}

/** A UUID as agent servers and some messages print it, with dashes. */
export function toDashedId(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/** A time, naive ones being UTC; comes out as RFC 3339 in UTC with microseconds and `Z`. */
export const time = () =>
  v.pipe(
    text(),
    v.rawTransform<string, string>(({ dataset, addIssue, NEVER }) => {
      const stamp = toStamp(dataset.value);
      if (stamp !== null) return stamp;
      const error = dataset.value.length < 10 ? 'input is too short' : 'invalid character in year';
      const problem = `Input should be a valid datetime or date, ${error}`;
      addIssue({ message: words('datetime_from_date_parsing', problem, { error }), input: dataset.value });
      return NEVER;
    }),
  );

function toStamp(input: string): string | null {
  // A plus sign in a query arrives as a space.
  const written = input
    .trim()
    .replace(/ (\d{2}:?\d{2})$/, (whole, zone: string) => (input.includes('T') ? `+${zone}` : whole));
  if (!TIME.test(written)) return null;
  const fraction = /\.(\d+)/.exec(written)?.[1] ?? '';
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(written) && written.length > 10;
  const plain = written.replace(/\.\d+/, '').replace(' ', 'T');
  const millis = Date.parse(hasZone ? plain : plain.length > 10 ? `${plain}Z` : plain);
  if (Number.isNaN(millis)) return null;
  return new Date(millis).toISOString().replace('.000Z', `.${fraction.slice(0, 6).padEnd(6, '0')}Z`);
}

/** Text with a rule; `msg` in the words of a genuine server. */
export const textThat = (rule: (value: string) => boolean, say: (value: string) => string) =>
  v.pipe(
    text(),
    v.rawCheck<string>(({ dataset, addIssue }) => {
      if (!dataset.typed || rule(dataset.value)) return;
      addIssue({ message: words('value_error', `Value error, ${say(dataset.value)}`, { error: {} }) });
    }),
  );

/** Text without a null character: the driver of the database ends a text there when it reads it. */
export const storableText = () =>
  textThat(
    (value) => !value.includes('\0'),
    () => 'a null character cannot be stored',
  );

/** Text that matches a pattern. */
export const textLike = (pattern: RegExp) =>
  v.pipe(
    text(),
    v.regex(
      pattern,
      words('string_pattern_mismatch', `String should match pattern '${pattern.source}'`, { pattern: pattern.source }),
    ),
  );

/** Text of a length within bounds, both included. */
export const textOf = (min: number, max: number) =>
  v.pipe(
    text(),
    v.minLength(
      min,
      words('string_too_short', `String should have at least ${min} character${min === 1 ? '' : 's'}`, {
        min_length: min,
      }),
    ),
    v.maxLength(max, words('string_too_long', `String should have at most ${max} characters`, { max_length: max })),
  );

/** A list with at least one item. */
export const filledList = <Item extends v.GenericSchema>(item: Item) =>
  v.pipe(
    list(item),
    v.minLength(
      1,
      words('too_short', 'List should have at least 1 item after validation, not 0', {
        field_type: 'List',
        min_length: 1,
        actual_length: 0,
      }),
    ),
  );

/** A member that may be left out or null. */
export const maybe = <Schema extends v.GenericSchema>(schema: Schema) => v.optional(v.nullable(schema));
