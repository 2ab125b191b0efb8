import { Hono, type Context, type NotFoundHandler } from 'hono';
import { injectFaults } from '../faults/middleware.ts';
import type { FaultRules } from '../faults/rules.ts';
import { storageError } from '../storage/storage-error.ts';
import { HttpError, json, refuse } from './answer.ts';
import { forbidden, isKey } from './guard.ts';
import { readRequest } from './request.ts';
import type { Access, AccessCheck, Route } from './route.ts';

export interface RouterOptions<RouteContext = unknown> {
  host: string;
  key: string;
  /** Whether the key may also come as `Authorization: Bearer`. */
  acceptsBearer: boolean;
  /** Checks of the callers that do not have the key. */
  access?: Partial<Record<Access, AccessCheck<RouteContext>>>;
  maxBodyBytes: number;
  faults: FaultRules;
  /** Called before each request that passes the guard, and after it. */
  onBegin(path: string): void;
  onEnd?(): void;
  errorOf(error: Error): HttpError | null;
  log(line: string): void;
}

export function createRouter<RouteContext>(
  routes: readonly Route<RouteContext>[],
  context: RouteContext,
  options: RouterOptions<RouteContext>,
): Hono {
  const app = new Hono();
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
  app.use(injectFaults(options.faults));
  const key: AccessCheck<RouteContext> = (_, c) =>
    hasKey(c, options) ? null : json({ detail: 'Unauthorized' }, 401);
  const checks = { key, open: () => null, ...options.access };
  for (const { access = 'key', ...route } of routes) {
    const check = checks[access];
    if (check === undefined) throw new Error(`${route.path}: no check for access '${access}'`);
    const path = route.path
      .replace(/\{(\w+):path\}/g, ':$1{[\\s\\S]+}')
      .replace(/\{(\w+)\}/g, ':$1');
    app.on(route.method, path, async (c) => {
      const answer =
        (await check(context, c)) ?? (await route.handle(context, await readRequest(c, route)));
      return answer instanceof Response ? answer : json(answer);
    });
  }
  app.notFound(answerUnserved(app, new Set(routes.map(({ method }) => method))));
  app.onError((error) => {
    const { status, body } = httpErrorOf(error, options.errorOf);
    const { message, stack } = error;
    // A damaged file is no fault of the code.
    const cause = storageError(error) === null ? (stack ?? message) : message;
    if (status >= 500 && !(error instanceof HttpError)) options.log(`request failed: ${cause}`);
    return json(body, status);
  });
  return app;
}

function hasKey(c: Context, { key, acceptsBearer }: RouterOptions<never>): boolean {
  if (isKey(c.req.header('x-session-api-key'), key)) return true;
  const bearer = /^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return acceptsBearer && isKey(bearer, key);
}

/** As genuine servers: 405 for another method, 307 for another trailing slash, else 404. */
function answerUnserved({ router }: Hono, methods: ReadonlySet<string>): NotFoundHandler {
  const methodsAt = (path: string): string[] =>
    [...methods].filter((method) =>
      router.match(method, path)[0].some(([[, route]]) => route.method === method),
    );
  return (c) => {
    const { pathname, search } = new URL(c.req.url);
    const allowed = methodsAt(pathname);
    if (allowed.length > 0)
      return json({ detail: 'Method Not Allowed' }, 405, { Allow: allowed.join(', ') });
    const other = pathname.endsWith('/') ? pathname.replace(/\/+$/, '') : `${pathname}/`;
    // A path of two slashes at its start would be another host.
    if (!/^\/(?!\/)/.test(other) || methodsAt(other).length === 0)
      return json({ detail: 'Not Found' }, 404);
    return new Response(null, { status: 307, headers: { Location: other + search } });
  };
}

export function httpErrorOf(error: Error, errorOf: RouterOptions['errorOf']): HttpError {
  const known = error instanceof HttpError ? error : errorOf(error);
  if (known !== null) return known;
  const storage = storageError(error);
  return storage === null
    ? refuse(500, 'Internal Server Error')
    : refuse(storage.status, storage.text);
}
