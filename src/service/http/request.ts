import type { Context } from 'hono';
import * as v from 'valibot';
import { check, isTooDeep, malformedJson, missingBody, tooDeep } from '../../protocol/detail.ts';
import { invalid, refuse } from './answer.ts';
import type { QuerySchema, RouteDeclaration, RouteRequest } from './route.ts';

const MIB = 1024 * 1024;

declare module 'hono' {
  interface ContextVariableMap {
    maxBodyBytes: number;
  }
}

/** Throws a 413 above the limit of the server; server.ts discards the rest of the body. */
async function readBody(c: Context): Promise<Buffer> {
  const limit = c.get('maxBodyBytes');
  const tooLarge = () => refuse(413, `Request body is larger than ${limit / MIB} MiB`);
  if (Number(c.req.header('content-length') ?? 0) > limit) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: ReadableStream<Uint8Array> | null = c.req.raw.body;
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readJson(c: Context, schema: v.GenericSchema, empty: unknown): Promise<unknown> {
  const text = (await readBody(c)).toString('utf8');
  if (text.trim() === '') {
    if (empty === undefined) throw invalid(missingBody());
    return checked(schema, empty, 'body');
  }
  // A form or plain text is one string to a genuine server, whatever it contains.
  let value: unknown = text;
  if (/\bjson\b/i.test(c.req.header('content-type') ?? 'application/json')) {
    try {
      value = parseJson(text);
    } catch (error) {
      const position = Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? 0);
      throw invalid(malformedJson(position));
    }
  }
  if (value === null) throw invalid(missingBody());
  if (value === undefined) throw invalid(tooDeep());
  return checked(schema, value, 'body');
}

/** Replaces halves of surrogate pairs. Undefined: nested too deeply. Throws SyntaxError. */
export function parseJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (isTooDeep(value)) return undefined;
  if (!/\\ud[89a-f]/i.test(json)) return value;
  return JSON.parse(json, (_name, member: unknown) =>
    typeof member === 'string' ? member.replace(/\p{Cs}/gu, '\ufffd') : member,
  );
}

/** The checked query: all values of a list, and the first value of any other name. */
function readQuery(c: Context, schema: QuerySchema): unknown {
  const lists = Object.keys(schema.entries).filter(
    (name) => schema.entries[name]?.type === 'array',
  );
  const values = lists.map((name) => [name, c.req.queries(name)]);
  return checked(schema, { ...c.req.query(), ...(Object.fromEntries(values) as object) }, 'query');
}

/** Throws a 422 with every mistake in the path, else in the query, else in the body. */
export async function readRequest(
  c: Context,
  { parts = {}, query, body, emptyBody }: RouteDeclaration,
): Promise<RouteRequest> {
  return {
    c,
    path: checked(v.looseObject(parts), c.req.param(), 'path') as RouteRequest['path'],
    query: query && readQuery(c, query),
    body: body && (await readJson(c, body, emptyBody)),
  };
}

function checked(
  schema: v.GenericSchema,
  value: unknown,
  part: 'body' | 'query' | 'path',
): unknown {
  const result = check(schema, value, part);
  if (!result.ok) throw invalid(result.detail);
  return result.value;
}

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

export function present<Members extends object>(members: Members): Present<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<Members>;
}

/** Throws a 400 for more than `most` ids. */
export function assertFew(ids: string[], most: number, what: string): void {
  if (ids.length > most)
    throw refuse(400, `Cannot request more than ${most} ${what} at once, got ${ids.length}`);
}

interface PageQuery {
  limit: number;
  page_id?: string;
}

interface Page<Item> {
  items: Item[];
  next_page_id: string | null;
}

/** `page_id` is an offset; any other text is the first page, as on genuine servers. */
export function offsetPage<Item>(
  { limit, page_id: pageId }: PageQuery,
  fetch: (limit: number, offset: number) => Item[],
): Page<Item> {
  const offset = pageId !== undefined && /^\d{1,9}$/.test(pageId) ? Number(pageId) : 0;
  const items = fetch(limit + 1, offset);
  return {
    items: items.slice(0, limit),
    next_page_id: items.length > limit ? String(offset + limit) : null,
  };
}

/** Where a page of `Table.page` begins. */
export const POSITION = /^(?:\d{1,12}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;

/** `page_id` is the time of the last item: what was created since shifts nothing. */
export function timePage<Item extends { created_at: string }>(
  { limit, page_id: pageId = '0' }: PageQuery,
  fetch: (limit: number, from: string) => Item[],
): Page<Item> {
  const decoded = Buffer.from(pageId, 'base64url').toString();
  const from = [pageId, decoded].find((each) => POSITION.test(each)) ?? '0';
  const items = fetch(limit + 1, from);
  const last = items.length > limit ? items[limit - 1] : undefined;
  return {
    items: items.slice(0, limit),
    next_page_id: last ? Buffer.from(last.created_at).toString('base64url') : null,
  };
}

export function listPage<Item>(query: PageQuery, list: readonly Item[]): Page<Item> {
  return offsetPage(query, (limit, offset) => list.slice(offset, offset + limit));
}

/** A page that begins at the item with the id `page_id`; an unknown id is the first page. */
export function cursorPage<Item>(
  query: PageQuery,
  list: readonly Item[],
  idOf: (item: Item) => string,
): Page<Item> {
  const rest = list.slice(Math.max(0, list.map(idOf).indexOf(query.page_id ?? '')));
  const next = rest[query.limit];
  return {
    items: rest.slice(0, query.limit),
    next_page_id: next === undefined ? null : idOf(next),
  };
}
