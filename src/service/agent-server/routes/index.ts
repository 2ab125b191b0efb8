/** The HTTP side of the agent server: one file for each group of routes. `createRoutes` gives `Request → Response`. */
import { Hono } from 'hono';
import type { WorkerContext } from '../context.ts';
import { injectFaults } from '../../faults/middleware.ts';
import { isKey } from '../../http/guard.ts';
import { HttpRefusal, isLocalRequest, refusalOf } from '../http.ts';
import { bashRoutes } from './bash.ts';
import { conversationRoutes } from './conversations.ts';
import { eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { gitRoutes } from './git.ts';
import { infoRoutes } from './info.ts';

export function createRoutes(worker: WorkerContext): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    if (!isLocalRequest(context.req.header('host'), context.req.header('origin'))) {
      throw new HttpRefusal(403, 'Only requests to and from this machine are answered');
    }
    await next();
  });
  if (worker.faultRules !== null) app.use(injectFaults(worker.faultRules));
  app.use('/api/*', async (context, next) => {
    if (!isKey(context.req.header('x-session-api-key'), worker.sessionApiKey)) {
      throw new HttpRefusal(401, 'Unauthorized');
    }
    await next();
  });
  infoRoutes(app, worker);
  conversationRoutes(app, worker);
  eventRoutes(app, worker);
  bashRoutes(app, worker);
  gitRoutes(app, worker);
  fileRoutes(app, worker);
  app.notFound((context) => {
    const known = app.routes.some((route) => route.method !== 'ALL' && matches(route.path, context.req.path));
    return known ? context.json({ detail: 'Method Not Allowed' }, 405) : context.json({ detail: 'Not Found' }, 404);
  });
  app.onError((error, context) => {
    const { status, detail } = refusalOf(error);
    return context.json({ detail }, status);
  });
  return app;
}

function matches(route: string, path: string): boolean {
  const parts = route.split('/');
  const given = path.split('/');
  const isOpenEnded = parts.at(-1)?.endsWith('{.+}') === true;
  const rest = given.slice(parts.length - 1).join('/');
  return (
    (isOpenEnded ? rest !== '' : parts.length === given.length) &&
    parts.every((part, index) => part.startsWith(':') || part === given[index])
  );
}
