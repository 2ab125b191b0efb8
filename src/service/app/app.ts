import type { Hono } from 'hono';
import { createFaultRules } from '../faults/rules.ts';
import { HttpError, refuse } from '../http/answer.ts';
import { readDocument } from '../http/document.ts';
import type { Handlers } from '../http/route.ts';
import { createRouter } from '../http/router.ts';
import { SpecRefused } from '../sandboxes/specs.ts';
import type { AppRoute } from '../http/served-routes.ts';
import type { AppContext } from './context.ts';
import { ForgejoError } from '../settings/git-providers.ts';
import { conversationHandlersV0 } from './routes/conversations-v0.ts';
import { conversationHandlersV1 } from './routes/conversations-v1.ts';
import { pageHandlers } from './routes/page.ts';
import { sandboxHandlers } from './routes/sandboxes.ts';
import { secretHandlers } from './routes/secrets.ts';
import { settingsHandlers } from './routes/settings.ts';

/** The largest body is a replay or a file. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export function appHandlers(context: AppContext): Handlers<AppRoute> {
  const { supervisor } = context;
  const { conversations, sandboxes, startTasks } = context.store;
  return {
    ...settingsHandlers(context),
    ...secretHandlers(context),
    ...conversationHandlersV0(context),
    ...conversationHandlersV1(context),
    ...sandboxHandlers(context),
    ...pageHandlers(context),
    // Read by `acs serve` and before a replacement.
    'GET /local/activity': () => {
      const running = conversations.countRunning();
      return {
        running: running > 0 || startTasks.unfinished().length > 0,
        conversations_running: running,
        sandboxes_running: sandboxes.all().filter(({ status }) => status === 'RUNNING').length,
        unknown_workspaces: supervisor.folders.unknown(sandboxes.all().map(({ id }) => id)),
      };
    },
    'GET /openapi.json': async () => {
      const { info, paths, ...same } = await readDocument(context.root, 'app-server');
      const served = Object.entries(paths).filter(([path]) => isServed(context, path));
      return {
        ...same,
        info: { ...info, version: context.version },
        paths: Object.fromEntries(served),
      };
    },
  };
}

export function createApp(context: AppContext): Hono {
  const { activity } = context;
  const served = Object.entries(appHandlers(context)).filter(([route]) =>
    isServed(context, route.split(' ')[1] ?? ''),
  );
  return createRouter(Object.fromEntries(served), {
    host: context.host,
    key: context.key,
    acceptsBearer: true,
    maxBodyBytes: MAX_BODY_BYTES,
    faults: context.faults?.length ? createFaultRules(context.faults, context.log) : null,
    onBegin: () => activity.begin(),
    onEnd: () => activity.end(),
    errorOf(error) {
      if (error instanceof SpecRefused)
        return new HttpError(501, { detail: error.message, msg_id: error.messageId });
      if (error instanceof ForgejoError)
        return refuse(502, `The git provider cannot be read: ${error.message}`);
      return null;
    },
    log: context.log,
  });
}

function isServed({ api }: AppContext, path: string): boolean {
  const dialect = /^\/api\/(?:v1\/|shared-)/.test(path) ? 'v1' : 'v0';
  return api === 'both' || !path.startsWith('/api/') || api === dialect;
}
