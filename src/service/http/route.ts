/**
 * A route with the schemas of what it takes, from which its handler and the document of its server
 * are made.
 */
import type { Context } from 'hono';
import type * as v from 'valibot';
import { readJson, readQuery, type QuerySchema } from './request.ts';

export interface Takes {
  query?: QuerySchema;
  body?: v.GenericSchema;
  /** Whether the body may be empty. */
  isBodyOptional?: boolean;
  /** The name of a file in a multipart body. */
  file?: string;
}

/** What it returns is sent as JSON with status 200, unless it is a Response. */
export type Handler = ((c: Context) => unknown) & { readonly takes?: Takes };

/** By `METHOD /path`: `{name}` is a part of the path, `{name:path}` may contain slashes. */
export type Handlers<Name extends string> = { readonly [Each in Name]?: Handler };

/**
 * A handler of the checked body. `empty`: the value of an empty body; without it an empty body is a
 * 422.
 */
export function body<S extends v.GenericSchema>(
  schema: S,
  handle: (given: v.InferOutput<S>, c: Context) => unknown,
  empty?: unknown,
): Handler {
  const read = async (c: Context): Promise<unknown> => handle(await readJson(c, schema, empty), c);
  return Object.assign(read, { takes: { body: schema, isBodyOptional: empty !== undefined } });
}

/** A handler of the checked query. */
export function query<S extends QuerySchema>(
  schema: S,
  handle: (given: v.InferOutput<S>, c: Context) => unknown,
): Handler {
  return Object.assign((c: Context): unknown => handle(readQuery(c, schema), c), {
    takes: { query: schema },
  });
}
