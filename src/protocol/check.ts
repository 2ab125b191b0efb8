/**
 * Checks what came over the wire and says what is wrong with it in the form of the genuine servers: a list of
 * `{type, loc, msg, input, ctx?}` (interface section 8.1).
 */
import * as v from 'valibot';

/** One thing that is wrong. */
export interface Detail {
  type: string;
  /** Where: `body`, `query` or `path`, then keys and indexes. */
  loc: (string | number)[];
  msg: string;
  /** What was found. Left out where it could be a secret or is large. */
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
  if (Array.isArray(value) && isObject(schema)) return { ok: false, detail: [notAnObject(part, value)] };
  const result = v.safeParse(schema, value);
  if (result.success) return { ok: true, value: result.output };
  return { ok: false, detail: result.issues.flatMap((issue) => toDetail(issue, [part])) };
}

/** To valibot a list is an object too. */
function isObject(schema: v.GenericSchema): boolean {
  return schema.type === 'object' || schema.type === 'strict_object' || schema.type === 'record';
}

function notAnObject(part: string, value: unknown[]): Detail {
  const msg = 'Input should be a valid dictionary or object to extract fields from';
  return { type: 'model_attributes_type', loc: [part], msg, ...shown([part], value) };
}

/** Deeper than anything that is meant; what walks through a value calls itself for each level. */
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

function toDetail(issue: Issue, start: (string | number)[]): Detail[] {
  const loc = [...start, ...(issue.path ?? []).map((item) => item.key as string | number)];
  const isMissing = issue.received === 'undefined' && issue.input === undefined;
  if (isMissing) {
    // Genuine servers echo the whole body, but nothing of a query.
    const parent = start[0] === 'query' ? null : issue.path?.at(-1)?.input;
    return [{ type: 'missing', loc, msg: 'Field required', ...shown(loc.slice(0, -1), parent ?? null) }];
  }
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', ...shown(loc, lastValue(issue)) }];
  }
  const said = fromWords(issue.message) ?? { type: 'value_error', msg: issue.message };
  const { ctx, ...rest } = said;
  return [
    {
      type: rest.type,
      loc,
      msg: rest.msg,
      ...shown(loc, asSent(start, issue.input)),
      ...(ctx === undefined ? {} : { ctx }),
    },
  ];
}

/** In a query everything was sent as text. */
function asSent([part]: (string | number)[], input: unknown): unknown {
  return part === 'query' && typeof input === 'number' ? String(input) : input;
}

function lastValue(issue: Issue): unknown {
  return issue.path?.at(-1)?.value;
}

const SECRET_NAME = /key|token|secret|password|value|env|header|auth|replay/i;

/** Genuine servers echo what they were sent; a secret or a large thing is not echoed here. */
function shown(loc: (string | number)[], input: unknown): { input?: unknown } {
  if (loc.some((part) => typeof part === 'string' && SECRET_NAME.test(part))) return {};
  if (typeof input === 'object' && input !== null) {
    const text = JSON.stringify(input);
    return text.length > 200 || SECRET_NAME.test(text) ? {} : { input };
  }
  return typeof input === 'string' && input.length > 200 ? {} : { input };
}

/** The list of a body that is no JSON. */
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
