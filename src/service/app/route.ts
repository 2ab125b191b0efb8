/** What the app server serves is a table of these; the table is also what `/openapi.json` tells. */
import type { Context } from 'hono';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One route. `path` in the form of the document: `{name}` is a part of the path, `{name:path}` may hold slashes. */
export interface Route {
  method: Method;
  path: string;
  handle(c: Context): Response | Promise<Response>;
  /** Served without the key. */
  isOpen?: true;
}
