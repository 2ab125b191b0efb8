/** Answers that are not a success, thrown from anywhere within a route, and reading of requests. */
import type { Context } from 'hono';
import type * as v from 'valibot';
import {
  check,
  isTooDeep,
  malformedJson,
  missingBody,
  toHexId,
  tooDeep,
  uuid,
  type Detail,
} from '../../protocol/detail.ts';
import { readBytes } from '../request-body.ts';

/** Ends a route with this answer. */
export class HttpAnswer extends Error {
  override readonly name = 'HttpAnswer';
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`answer ${status}`);
    this.status = status;
    this.body = body;
  }
}

/** `{"detail": text}`. */
export function refuse(status: number, detail: string): HttpAnswer {
  return new HttpAnswer(status, { detail });
}

export function refuseDetail(detail: Detail[]): HttpAnswer {
  return new HttpAnswer(422, { detail });
}

/** A JSON answer; one function, so that every body is written the same way. */
export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
}

/** Bodies beyond this are refused with 413: the largest thing to send is a replay or a file. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** The body of a request, at most MAX_BODY_BYTES of it. */
export async function readBody(c: Context): Promise<Buffer> {
  const body = await readBytes(c, MAX_BODY_BYTES);
  if (body === null) throw refuse(413, 'Request body is larger than 32 MiB');
  return body;
}

/** The checked JSON body. Throws a 422 that says what is wrong. */
export async function readJson<Schema extends v.GenericSchema>(
  c: Context,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const result = check(schema, await readAnyJson(c), 'body');
  if (!result.ok) throw refuseDetail(result.detail);
  return result.value;
}

/** The JSON body, whatever it is. Throws a 422 when there is none. */
export async function readAnyJson(c: Context): Promise<unknown> {
  const text = (await readBody(c)).toString('utf8');
  if (text.trim() === '') throw refuseDetail(missingBody());
  // A form or plain text is one string to a genuine server, whatever it looks like.
  if (!/\bjson\b/i.test(c.req.header('content-type') ?? 'application/json')) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const position = Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? 0);
    throw refuseDetail(malformedJson(position));
  }
  if (value === null) throw refuseDetail(missingBody());
  if (isTooDeep(value)) throw refuseDetail(tooDeep());
  return value;
}

/** The checked query. */
export function readQuery<Schema extends v.GenericSchema>(c: Context, schema: Schema): v.InferOutput<Schema> {
  const result = check(schema, c.req.query(), 'query');
  if (!result.ok) throw refuseDetail(result.detail);
  return result.value;
}

/** All values of a query member that may be given several times. */
export function readQueryList(c: Context, name: string): string[] {
  const values = c.req.queries(name) ?? [];
  if (values.length === 0) {
    throw refuseDetail([{ type: 'missing', loc: ['query', name], msg: 'Field required', input: null }]);
  }
  return values;
}

/** The id in the path as 32 hexadecimal digits; 422 when it is none. */
export function pathId(c: Context, name = 'conversation_id'): string {
  const given = c.req.param(name) ?? '';
  const id = toHexId(given);
  if (id !== null) return id;
  const result = check(uuid(), given, 'path');
  throw refuseDetail(result.ok ? [] : result.detail.map((each) => ({ ...each, loc: ['path', name] })));
}

/** Where an offset page begins; what is no number begins at the start, as on genuine servers. */
export function offsetOf(pageId: string | undefined): number {
  return pageId !== undefined && /^\d{1,9}$/.test(pageId) ? Number(pageId) : 0;
}

/** A page of an offset list: `fetch` is asked for one more than the limit. */
export function offsetPage<Item>(
  limit: number,
  pageId: string | undefined,
  fetch: (limit: number, offset: number) => Item[],
): { items: Item[]; next_page_id: string | null } {
  const offset = offsetOf(pageId);
  const found = fetch(limit + 1, offset);
  return { items: found.slice(0, limit), next_page_id: found.length > limit ? String(offset + limit) : null };
}
