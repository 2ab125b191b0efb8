import type { Hono } from 'hono';
import * as v0 from '../../protocol/v0/requests.ts';
import * as v1 from '../../protocol/v1/requests.ts';
import { createFaultRules } from '../faults/rules.ts';
import { refuse } from '../http/answer.ts';
import type { Handlers } from '../http/route.ts';
import { createRouter } from '../http/router.ts';
import { SpecRefused } from '../sandboxes/specs.ts';
import type { AppRoute } from '../served-routes.ts';
import type { AppContext } from './context.ts';
import { ForgejoError } from './git-providers.ts';
import { conversationHandlersV0 } from './routes/conversations-v0.ts';
import { conversationHandlersV1 } from './routes/conversations-v1.ts';
import { pageHandlers } from './routes/page.ts';
import { sandboxHandlers } from './routes/sandboxes.ts';
import { secretHandlers } from './routes/secrets.ts';
import { settingsHandlers } from './routes/settings.ts';

/** The largest body is a replay or a file. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export function createApp(context: AppContext): Hono {
  const { api, activity, supervisor } = context;
  const { conversations, sandboxes, startTasks } = context.store;
  const all: Handlers<AppRoute> = {
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
        unknown_workspaces: supervisor.unknownWorkspaces(),
      };
    },
    'GET /openapi.json': () => openapiDocument(Object.keys(served), context.version),
  };
  const served = Object.fromEntries(
    Object.entries(all).filter(([route]) => api === 'both' || !route.includes(' /api/') || api === dialectOf(route)),
  );
  return createRouter(served, {
    host: context.host,
    key: context.key,
    acceptsBearer: true,
    maxBodyBytes: MAX_BODY_BYTES,
    faults: context.faults?.length ? createFaultRules(context.faults, context.log) : null,
    onBegin: () => activity.begin(),
    onEnd: () => activity.end(),
    errorOf(error) {
      if (error instanceof SpecRefused) return refuse(501, error.message);
      if (error instanceof ForgejoError) return refuse(502, `The git provider cannot be read: ${error.message}`);
      return null;
    },
    log: context.log,
  });
}

const dialectOf = (route: string): 'v0' | 'v1' => (/ \/api\/(?:v1\/|shared-)/.test(route) ? 'v1' : 'v0');

/** What no route shows, under the names of the client (src/client/features.ts). */
const STATED_FEATURES = {
  'web-interface': false,
  'immediate-events': true,
  'old-v0-conversations': true,
  'v0-sandboxes': true,
  'local-paths': true,
  'demo-replay': true,
  'exec-socket': true,
};

/** Clients read from these which members a server takes: those of V0 are all that it takes. */
const BODIES = [
  ['POST /api/v1/app-conversations', 'AppConversationStartRequest', v1.appConversationStart, {}],
  ['PATCH /api/v1/app-conversations/{conversation_id}', 'AppConversationUpdateRequest', v1.appConversationPatch, {}],
  ['POST /api/conversations', 'InitSessionRequest', v0.conversationCreate, { additionalProperties: false }],
] as const;

function openapiDocument(routes: readonly string[], version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ');
    const [, name] = BODIES.find(([of]) => of === route) ?? [];
    const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
    (paths[path] ??= {})[method.toLowerCase()] = {
      ...(name === undefined ? {} : { requestBody: { required: true, content } }),
      responses: { '200': { description: 'Successful Response' } },
    };
  }
  const schemas = BODIES.map(([, name, { entries }, more]) => {
    const properties = Object.keys(entries).map((title) => [title, { title }]);
    return [name, { type: 'object', properties: Object.fromEntries(properties) as unknown, ...more }];
  });
  const description = 'Serves the interface of OpenHands servers locally';
  return {
    openapi: '3.1.0',
    info: { title: 'acs local service', description, version, 'x-features': STATED_FEATURES },
    paths,
    components: { schemas: Object.fromEntries(schemas) as unknown },
  };
}
