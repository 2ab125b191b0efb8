/** Routes that tell about the server. The four of health need no key. */
import type { Hono } from 'hono';
import type { WorkerContext } from '../context.ts';

/**
 * Release of agent server and openhands-sdk whose interface this is: clients compare it (the TypeScript client refuses an
 * agent server below 1.23.0).
 */
const RELEASE = '1.34.0';
const TITLE = 'Agent server of the local service';
/** For a reader, so they are left out of the document for programs, as on genuine servers. */
const PAGES = ['/docs', '/redoc'];
const TOOLS = ['file_editor', 'terminal'];

export function infoRoutes(app: Hono, worker: WorkerContext): void {
  const started = worker.nowMicroseconds();
  let lastUse = started;
  app.use('/api/*', async (_context, next) => {
    lastUse = worker.nowMicroseconds();
    await next();
  });
  const seconds = (since: number): number => Math.floor((worker.nowMicroseconds() - since) / 1_000_000);
  const info = (): Record<string, unknown> => ({
    uptime: seconds(started),
    idle_time: seconds(lastUse),
    title: TITLE,
    version: RELEASE,
    sdk_version: RELEASE,
    tools_version: RELEASE,
    workspace_version: RELEASE,
    acs_version: worker.version,
    build_git_sha: 'unknown',
    build_git_ref: 'unknown',
    python_version: 'none: this server runs on Node.js',
    usable_tools: TOOLS,
    runtime_idle_timeout_seconds: null,
    max_foreground_terminal_timeout_seconds: null,
    docs: '/docs',
    redoc: '/redoc',
  });
  app.get('/', (context) => context.json(info()));
  app.get('/server_info', (context) => context.json(info()));
  app.get('/alive', (context) => context.json({ status: 'ok' }));
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/openapi.json', (context) => context.json(documentOf(app, worker.version)));
  app.get('/docs', (context) => context.html(pageOf(app)));
  app.get('/redoc', (context) => context.html(pageOf(app)));
  app.get('/ready', (context) => context.json({ status: 'ready' }));
  app.get('/api/tools', (context) => context.json(TOOLS));
  app.get('/api/tools/', (context) => context.json(TOOLS));
  app.get('/api/vscode/url', (context) => context.json({ url: null }));
}

/** Every route that is served; `{name}` is a part of a path. */
function routesOf(app: Hono): { method: string; path: string }[] {
  return app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, path: path.replace(/:(\w+)(?:\{[^}]*\})?/g, '{$1}') }));
}

function documentOf(app: Hono, version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method } of routesOf(app).filter(({ path }) => !PAGES.includes(path))) {
    (paths[path] ??= {})[method.toLowerCase()] = { responses: { '200': { description: 'Successful Response' } } };
  }
  return { openapi: '3.1.0', info: { title: TITLE, version }, paths };
}

/** The same for a reader. */
function pageOf(app: Hono): string {
  const routes = routesOf(app).map(({ method, path }) => `<li><code>${method} ${path}</code></li>`);
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    `<title>${TITLE}</title><h1>${TITLE}</h1>`,
    '<p>It answers as an OpenHands agent server does. What begins with <code>/api</code> needs the key of the sandbox',
    'in the header <code>X-Session-API-Key</code>. <a href="/openapi.json">openapi.json</a> lists the same routes.</p>',
    `<ul>${routes.join('')}</ul></html>`,
  ].join('\n');
}
