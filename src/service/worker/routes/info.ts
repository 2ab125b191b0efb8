/** Routes that tell about the server. The four of health need no key. */
import type { Hono } from 'hono';
import type { WorkerContext } from '../context.ts';

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
    title: 'Agent server of the local service',
    version: worker.version,
    sdk_version: worker.version,
    tools_version: worker.version,
    workspace_version: worker.version,
    usable_tools: TOOLS,
    runtime_idle_timeout_seconds: null,
    max_foreground_terminal_timeout_seconds: null,
    docs: null,
    redoc: null,
  });
  app.get('/', (context) => context.json(info()));
  app.get('/server_info', (context) => context.json(info()));
  app.get('/alive', (context) => context.json({ status: 'ok' }));
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/openapi.json', (context) => context.json(documentOf(app, worker.version)));
  app.get('/ready', (context) => context.json({ status: 'ready' }));
  app.get('/api/tools', (context) => context.json(TOOLS));
  app.get('/api/tools/', (context) => context.json(TOOLS));
  app.get('/api/vscode/url', (context) => context.json({ url: null }));
}

/** Every route that is served; `{name}` is a part of a path. */
function documentOf(app: Hono, version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method } of app.routes) {
    if (method === 'ALL') continue;
    const shown = path.replace(/:(\w+)(?:\{[^}]*\})?/g, '{$1}');
    (paths[shown] ??= {})[method.toLowerCase()] = { responses: { '200': { description: 'Successful Response' } } };
  }
  return { openapi: '3.1.0', info: { title: 'Agent server of the local service', version }, paths };
}
