/**
 * The router of app server and agent server: guard, fault injection, key, routes, and the answers to unknown paths and
 * methods.
 */
import { Hono, type Context } from 'hono';
import { injectFaults } from '../faults/middleware.ts';
import type { FaultRules } from '../faults/rules.ts';
import { OPEN_ROUTES } from '../served-routes.ts';
import { storageError } from '../storage/storage-error.ts';
import { HttpError, json, refuse } from './answer.ts';
import { forbidden, isKey } from './guard.ts';

export type Handler = (c: Context) => Response | Promise<Response>;

/**
 * Handlers by `METHOD /path`, as in served-routes.ts: `{name}` is a part of the path, `{name:path}` may contain slashes.
 */
export type Handlers<Name extends string> = { readonly [Each in Name]?: Handler };

export interface RouterOptions {
  /** The name or address that the server listens on. */
  host: string;
  key: string;
  /** Whether the key may also come as `Authorization: Bearer`. */
  acceptsBearer: boolean;
  /** Longer bodies are answered with 413. */
  maxBodyBytes: number;
  /** Null: no fault is injected. */
  faults: FaultRules | null;
  /** Called before each request that passes the guard, and after it. */
  onBegin(path: string): void;
  onEnd?(): void;
  /** The answer to an error of this server; null: not known. */
  errorOf(error: Error): HttpError | null;
  log(line: string): void;
}

interface Route {
  method: string;
  path: string;
  handle: Handler;
  pattern: RegExp;
}

export function createRouter(handlers: Handlers<string>, options: RouterOptions): Hono {
  const app = new Hono<{ Variables: { maxBodyBytes: number } }>();
  const routes = Object.entries(handlers).flatMap(([name, handle]) =>
    handle === undefined ? [] : [route(name, handle)],
  );
  app.use(async (c, next) => {
    options.onBegin(c.req.path);
    try {
      const host = c.req.header('host') ?? new URL(c.req.url).host;
      const why = forbidden(host, c.req.header('origin'), options.host);
      if (why !== null) return json({ detail: why }, 403);
      // Hono answers HEAD as GET; genuine servers refuse it.
      if (c.req.method === 'HEAD') return new Response(null, { status: 405 });
      c.set('maxBodyBytes', options.maxBodyBytes);
      await next();
      c.res.headers.set('Cache-Control', 'no-store');
      return;
    } finally {
      options.onEnd?.();
    }
  });
  if (options.faults !== null) app.use(injectFaults(options.faults));
  for (const { method, path, handle } of routes) {
    const isOpen = OPEN_ROUTES.has(`${method} ${path}`);
    app.on(method, honoPath(path), (c) => {
      if (!isOpen && !hasKey(c, options)) return json({ detail: 'Unauthorized' }, 401);
      return handle(c);
    });
  }
  app.notFound((c) => answerUnknown(c, routes));
  app.onError((error) => answerError(error, options));
  return app as unknown as Hono;
}

function route(name: string, handle: Handler): Route {
  const [method = '', path = ''] = name.split(' ');
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  const source = escaped.replace(/\{\w+:path\}/g, '.+').replace(/\{\w+\}/g, '[^/]+');
  return { method, path, handle, pattern: new RegExp(`^${source}$`) };
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+):path\}/g, ':$1{.+}').replace(/\{(\w+)\}/g, ':$1');
}

function hasKey(c: Context, { key, acceptsBearer }: RouterOptions): boolean {
  if (isKey(c.req.header('x-session-api-key'), key)) return true;
  return acceptsBearer && isKey(/^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1], key);
}

/** 405 for another method, 307 where only a trailing slash differs, else 404, as on genuine servers. */
function answerUnknown(c: Context, routes: readonly Route[]): Response {
  const { pathname, search } = new URL(c.req.url);
  const methodsAt = (path: string): string[] =>
    routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  const allowed = [...new Set(methodsAt(pathname))];
  if (allowed.length > 0) return json({ detail: 'Method Not Allowed' }, 405, { Allow: allowed.join(', ') });
  const other = pathname.endsWith('/') ? pathname.replace(/\/+$/, '') : `${pathname}/`;
  // A path of two slashes at its start would be another host.
  if (/^\/(?!\/)/.test(other) && methodsAt(other).length > 0) {
    return new Response(null, { status: 307, headers: { Location: other + search } });
  }
  return json({ detail: 'Not Found' }, 404);
}

function answerError(error: Error, { errorOf, log }: RouterOptions): Response {
  const known = httpErrorOf(error, errorOf);
  if (known.status >= 500 && !(error instanceof HttpError)) log(`request failed: ${error.stack ?? error.message}`);
  return json(known.body, known.status);
}

/** Any error as the answer that it becomes. */
export function httpErrorOf(error: Error, errorOf: RouterOptions['errorOf']): HttpError {
  if (error instanceof HttpError) return error;
  const known = errorOf(error);
  if (known !== null) return known;
  const storage = storageError(error);
  return storage === null ? refuse(500, 'Internal Server Error') : refuse(storage.status, storage.text);
}
