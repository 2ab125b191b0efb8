import type { Hono } from 'hono';
import * as v from 'valibot';
import { createFaultRules } from '../faults/rules.ts';
import { HttpError, refuse } from '../http/answer.ts';
import { readDocument } from '../http/document.ts';
import { dictionary, integer } from '../http/records.ts';
import { route, type Route } from '../http/route.ts';
import { createRouter } from '../http/router.ts';
import { SpecRefused } from '../sandboxes/specs.ts';
import type { AppContext } from './context.ts';
import { ForgejoError } from '../settings/forgejo.ts';
import { conversationRoutesV0 } from './routes/conversations-v0.ts';
import { conversationRoutesV1 } from './routes/conversations-v1.ts';
import { eventRoutesV0 } from './routes/events-v0.ts';
import { exchangeLink, pageRoutes, requirePageCookie } from './routes/page.ts';
import { requireSandboxKey, sandboxRoutes } from './routes/sandboxes.ts';
import { secretRoutes } from './routes/secrets.ts';
import { settingsRoutes } from './routes/settings.ts';

const MAX_BODY_BYTES = 32 * 1024 * 1024;

export const APP_ROUTES: readonly Route<AppContext>[] = [
  route('GET /openapi.json', {
    callers: 'acs (probe)',
    access: 'open',
    answers: { 200: dictionary() },
    async handle(context) {
      const { info, paths, ...same } = await readDocument(context.root, 'app-server');
      const served = Object.entries(paths).filter(([path]) => isServed(context, path));
      return {
        ...same,
        info: { ...info, version: context.version },
        paths: Object.fromEntries(served),
      };
    },
  }),
  route('GET /local/activity', {
    callers: 'acs serve',
    answers: {
      200: v.object({
        running: v.boolean(),
        conversations_running: integer(),
        sandboxes_running: integer(),
        unknown_workspaces: v.array(v.string()),
      }),
    },
    handle({ store: { conversations, sandboxes, startTasks }, supervisor }) {
      const running = conversations.countRunning();
      return {
        running: running > 0 || startTasks.unfinished().length > 0,
        conversations_running: running,
        sandboxes_running: sandboxes.all().filter(({ status }) => status === 'RUNNING').length,
        unknown_workspaces: supervisor.folders.unknown(sandboxes.all().map(({ id }) => id)),
      };
    },
  }),
  ...pageRoutes,
  ...conversationRoutesV0,
  ...eventRoutesV0,
  ...conversationRoutesV1,
  ...sandboxRoutes,
  ...settingsRoutes,
  ...secretRoutes,
];

export function createApp(context: AppContext): Hono {
  const { activity } = context;
  const faults = context.faults.filter(({ server }) => server === 'app');
  const served = APP_ROUTES.filter(({ path }) => isServed(context, path));
  return createRouter(served, context, {
    host: context.host,
    key: context.key,
    acceptsBearer: true,
    access: {
      sandboxKey: requireSandboxKey,
      pageCookie: requirePageCookie,
      pageLink: exchangeLink,
    },
    maxBodyBytes: MAX_BODY_BYTES,
    faults: createFaultRules(faults, context.log),
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

/** The dialect of a path of the app server; null: of both. */
export function dialectOf(path: string): 'v0' | 'v1' | null {
  if (!path.startsWith('/api/')) return null;
  return /^\/api\/(?:v1\/|shared-)/.test(path) ? 'v1' : 'v0';
}

function isServed({ api }: AppContext, path: string): boolean {
  const dialect = dialectOf(path);
  return api === 'both' || dialect === null || api === dialect;
}
