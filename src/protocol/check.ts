/**
 * Checks a request or answer and reports what is wrong in the form of the genuine servers: a list of
 * `{type, loc, msg, input, ctx?}` (interface section 8.1).
 */
import * as v from 'valibot';

/** One thing that is wrong. */
export interface Detail {
  type: string;
  /** Where: `body`, `query` or `path`, then keys and indexes. */
  loc: (string | number)[];
  msg: string;
  /** What was found, with a mask for what could be a secret. Left out where it is large. */
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/** The checked value, or what is wrong with it. */
export type Checked<Value> = { ok: true; value: Value } | { ok: false; detail: Detail[] };

/** Checks a value. `part` is the first word of each place. */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  part: 'body' | 'query' | 'path',
): Checked<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, value);
  if (result.success) return { ok: true, value: result.output };
  const known = namesIn(schema);
  return { ok: false, detail: result.issues.map((issue) => toDetail(issue, part, known)) };
}

/** Limit of nesting: no valid body is deeper, and the functions that traverse a value recurse once per level. */
const DEEPEST = 200;

/** Whether a parsed JSON value is nested too deeply to be worked with. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((each): unknown[] => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** The list of a body that is nested too deeply. */
export function tooDeep(): Detail[] {
  return [{ type: 'json_invalid', loc: ['body'], msg: 'JSON decode error: nested too deeply' }];
}

/** The words of a leaf: type, message and context, in one string because that is what a schema can carry. */
export function words(type: string, msg: string, ctx?: Record<string, unknown>): string {
  return JSON.stringify({ type, msg, ctx });
}

function fromWords(message: string): Pick<Detail, 'type' | 'msg' | 'ctx'> | null {
  if (!message.startsWith('{"type":')) return null;
  const { type, msg, ctx } = JSON.parse(message) as Pick<Detail, 'type' | 'msg' | 'ctx'>;
  return ctx === undefined ? { type, msg } : { type, msg, ctx };
}

type Issue = v.BaseIssue<unknown>;

function toDetail(issue: Issue, part: string, known: ReadonlySet<string>): Detail {
  const loc = [part, ...(issue.path ?? []).map((item) => item.key as string | number)];
  const isMissing = issue.received === 'undefined' && issue.input === undefined;
  if (isMissing) {
    // Genuine servers echo the whole body, but nothing of a query.
    const parent = part === 'query' ? null : issue.path?.at(-1)?.input;
    return { type: 'missing', loc, msg: 'Field required', ...shown(loc.slice(0, -1), parent ?? null, known) };
  }
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const given = issue.path?.at(-1)?.value;
    return { type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', ...shown(loc, given, known) };
  }
  const { type, msg, ctx } = fromWords(issue.message) ?? { type: 'value_error', msg: issue.message };
  // In a query everything was sent as text.
  const given = part === 'query' && typeof issue.input === 'number' ? String(issue.input) : issue.input;
  return { type, loc, msg, ...shown(loc, given, known), ...(ctx === undefined ? {} : { ctx }) };
}

const MASK = '**********';
const SECRET_NAME = /key|token|secret|password|value|env|header|auth|replay|args|command/i;
const CREDENTIALS = /:\/\/[^/]*@/;
const LONGEST_TEXT = 200;
const LARGEST = 2000;

/**
 * Genuine servers echo what they were sent. Here a text is masked where its member may hold a secret, by its name or
 * because the schema does not have the name: a misspelt member may hold one as well.
 */
function shown(loc: (string | number)[], input: unknown, known: ReadonlySet<string>): { input?: unknown } {
  const text = JSON.stringify(input) as string | undefined;
  if (text === undefined || text.length > LARGEST) return typeof input === 'string' ? { input: MASK } : {};
  const judge = (before: Secrecy, name: string): Secrecy =>
    before === 'secret' || SECRET_NAME.test(name) ? 'secret' : known.has(name) ? before : 'unknown';
  const names = loc.slice(1).filter((each) => typeof each === 'string');
  return { input: masked(input, names.reduce(judge, 'open'), judge) };
}

/** What is known of a member by its name. */
type Secrecy = 'open' | 'unknown' | 'secret';

function masked(input: unknown, secrecy: Secrecy, judge: (before: Secrecy, name: string) => Secrecy): unknown {
  if (typeof input === 'string') {
    if (input === '') return input;
    if (secrecy !== 'open' || CREDENTIALS.test(input)) return MASK;
    return input.length > LONGEST_TEXT ? `${input.slice(0, LONGEST_TEXT)}…` : input;
  }
  if (typeof input === 'number') return secrecy === 'secret' ? MASK : input;
  if (Array.isArray(input)) return input.map((item) => masked(item, secrecy, judge));
  if (typeof input !== 'object' || input === null) return input;
  const members = Object.entries(input).map(([name, member]): [string, unknown] => [
    name,
    masked(member, judge(secrecy, name), judge),
  ]);
  return Object.fromEntries(members);
}

/** The names of all members that a schema has, at any depth. */
function namesIn(schema: unknown, found = new Set<string>(), seen = new Set<unknown>()): Set<string> {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return found;
  seen.add(schema);
  const { entries, named, pipe, options, ...single } = schema as Record<string, unknown>;
  for (const [name, member] of [...Object.entries(entries ?? {}), ...Object.entries(named ?? {})]) {
    found.add(name);
    namesIn(member, found, seen);
  }
  const below = [single.wrapped, single.item, single.value, ...listed(pipe), ...listed(options)];
  for (const each of below) namesIn(each, found, seen);
  return found;
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The list for a body that is not JSON. */
export function malformedJson(position: number): Detail[] {
  return [
    {
      type: 'json_invalid',
      loc: ['body', position],
      msg: 'JSON decode error',
      input: {},
      ctx: { error: 'Expecting value' },
    },
  ];
}

/** The list of a body that is not there. */
export function missingBody(): Detail[] {
  return [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }];
}
