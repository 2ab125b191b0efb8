/** Handler, docs/served-routes.md and OpenAPI document are made from one declaration of a route. */
import type { Context as HttpContext } from 'hono';
import type * as v from 'valibot';

export type QuerySchema = v.GenericSchema & {
  readonly entries: Readonly<Record<string, v.GenericSchema>>;
};

/** The names of the parts of a path: `{name}` is one part, `{name:path}` may contain slashes. */
type PartName<Name extends string> = Name extends `${string}{${infer Part}}${infer Rest}`
  ? (Part extends `${infer Bare}:path` ? Bare : Part) | PartName<Rest>
  : never;

/** `pageLink`: the cookie of a page, or the link that is exchanged for it. */
export type Access = 'open' | 'sandboxKey' | 'pageCookie' | 'pageLink';

/** Throws the refusal, or returns an answer in place of the handler's; null: allowed. */
export type AccessCheck<Context> = (
  context: Context,
  c: HttpContext,
) => Response | null | Promise<Response | null>;

/** A route without its handler. */
export interface RouteDeclaration {
  readonly method: string;
  readonly path: string;
  /** The clients, separated by commas; `sdk 1.11.5`: later releases do not make the call. */
  readonly callers: string;
  /** Without it: the key of the server. */
  readonly access?: Access;
  /** The schemas of the parts of the path that are checked. */
  readonly parts?: Readonly<Record<string, v.GenericSchema<string, string>>>;
  readonly query?: QuerySchema;
  readonly body?: v.GenericSchema;
  /** The value of an empty body; without it an empty body is a 422. */
  readonly emptyBody?: unknown;
  /** The name of the file in a multipart body, which the handler reads. */
  readonly file?: string;
  /** Headers that the handler reads. */
  readonly headers?: readonly string[];
  /** By status: a schema, a media type, or null. The OpenAPI document adds 401, 413 and 422. */
  readonly answers: Readonly<Record<number, v.GenericSchema | string | null>>;
}

export interface RouteRequest<Path = Record<string, string>, Query = unknown, Body = unknown> {
  path: Path;
  query: Query;
  body: Body;
  c: HttpContext;
}

export interface Route<Context> extends RouteDeclaration {
  /** What it returns is sent as JSON with status 200, unless it is a Response. */
  handle(context: Context, request: RouteRequest): unknown;
}

/** `name`: `METHOD /path`. */
export function route<
  Context,
  const Name extends string,
  Query extends QuerySchema,
  Body extends v.GenericSchema,
>(
  name: Name,
  declaration: Omit<RouteDeclaration, 'method' | 'path'> & {
    readonly query?: Query;
    readonly body?: Body;
    handle(
      context: Context,
      request: RouteRequest<
        Readonly<Record<PartName<Name>, string>>,
        v.InferOutput<Query>,
        v.InferOutput<Body>
      >,
    ): unknown;
  },
): Route<Context> {
  const [method = '', path = ''] = name.split(' ');
  return { method, path, ...declaration };
}
