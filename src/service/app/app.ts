/**
 * The app server: a function from Request to Response. The table of routes is also what `/openapi.json` tells, so the
 * document cannot promise a path that is not there.
 */
import { Hono, type Context } from 'hono';
import type { AppContext } from './context.ts';
import { HttpAnswer, json, refuse } from '../http/request.ts';
import { isKey } from '../http/guard.ts';
import { storageTrouble } from '../storage/storage-error.ts';
import { createFaultRules } from '../faults/rules.ts';
import { injectFaults } from '../faults/middleware.ts';
import { commonRoutes } from './routes/common.ts';
import { v0Routes } from './routes/v0/index.ts';
import { v1Routes } from './routes/v1/index.ts';
import type { Route } from './route.ts';
import { SpecRefused } from '../sandboxes/specs.ts';

/** Builds the app server of a service. */
export function createApp(context: AppContext): Hono {
  const app = new Hono();
  const served = [
    ...(context.api === 'v1' ? [] : v0Routes(context)),
    ...(context.api === 'v0' ? [] : v1Routes(context)),
  ];
  const routes = [...served, ...commonRoutes(context, served)];
  app.use(async (c, next) => {
    context.activity.begin();
    try {
      const refused = refusedAtDoor(c, context);
      if (refused !== null) return refused;
      await next();
      c.res.headers.set('Cache-Control', 'no-store');
    } finally {
      context.activity.end();
    }
  });
  // Behind the door: what must not reach the service does not, whatever faults are injected.
  if (context.faults !== undefined && context.faults.length > 0) {
    app.use(injectFaults(createFaultRules(context.faults, context.log)));
  }
  for (const route of routes) {
    app.on(route.method, honoPath(route.path), (c) => {
      if (route.isOpen !== true && !bringsKey(c, context.key)) return json({ detail: 'Unauthorized' }, 401);
      return route.handle(c);
    });
  }
  app.notFound((c) => answerUnknown(c, routes));
  app.onError((error) => answerError(error, context));
  return app;
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+):path\}/g, ':$1{.+}').replace(/\{(\w+)\}/g, ':$1');
}

/** A page in a browser must not reach the service, neither by a name that points here nor as a foreign origin. */
function refusedAtDoor(c: Context, context: AppContext): Response | null {
  const host = c.req.header('host') ?? new URL(c.req.url).host;
  if (!isOurName(host, context.host)) return json({ detail: 'Host not allowed' }, 403);
  const origin = c.req.header('origin');
  if (origin !== undefined && !isOurOrigin(origin, context.host)) return json({ detail: 'Origin not allowed' }, 403);
  // Hono would answer HEAD as GET; genuine servers refuse it.
  if (c.req.method === 'HEAD') return new Response(null, { status: 405 });
  return null;
}

/** A page may lie at any address: of those only this machine's own are ours. */
function isOurOrigin(origin: string, configured: string): boolean {
  if (!/^https?:\/\//i.test(origin) || !isOurName(origin.replace(/^https?:\/\//i, ''), configured)) return false;
  const name = origin.replace(/^https?:\/\//i, '').replace(/:\d+$/, '');
  return /^localhost$/i.test(name) || /^127(?:\.\d+){3}$/.test(name) || name === '[::1]' || name === configured;
}

/** Addresses cannot be rebound, names can: of names only `localhost` and the one that was asked for are ours. */
function isOurName(host: string, configured: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
  return isAddress || name === 'localhost' || name === configured.toLowerCase();
}

function bringsKey(c: Context, key: string): boolean {
  const bearer = /^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return [c.req.header('x-session-api-key'), bearer].some((given) => isKey(given, key));
}

/** 307 for a slash too many, 405 for another method, else 404, as genuine servers do. */
function answerUnknown(c: Context, routes: Route[]): Response {
  const { pathname, search } = new URL(c.req.url);
  const matching = (path: string): Route[] => routes.filter((route) => patternOf(route.path).test(path));
  if (matching(pathname).length > 0) {
    const allow = [...new Set(matching(pathname).map((route) => route.method))].join(', ');
    return new Response(JSON.stringify({ detail: 'Method Not Allowed' }), {
      status: 405,
      headers: { 'Content-Type': 'application/json', Allow: allow },
    });
  }
  const stripped = pathname.replace(/\/+$/, '');
  if (
    stripped !== pathname &&
    stripped.startsWith('/') &&
    !stripped.startsWith('//') &&
    matching(stripped).length > 0
  ) {
    return new Response(null, { status: 307, headers: { Location: stripped + search } });
  }
  return json({ detail: 'Not Found' }, 404);
}

function patternOf(path: string): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\{\w+:path\}/g, '.+').replace(/\{\w+\}/g, '[^/]+')}$`);
}

function answerError(error: Error, context: AppContext): Response {
  if (error instanceof HttpAnswer) return json(error.body, error.status);
  if (error instanceof SpecRefused) return json({ detail: error.message }, 501);
  const trouble = storageTrouble(error);
  context.log(`request failed: ${error.stack ?? error.message}`);
  if (trouble !== null) return json({ detail: trouble.text }, trouble.status);
  return answerError(refuse(500, 'Internal Server Error'), context);
}
