/** The app server: a function from Request to Response. */
import type { Hono } from 'hono';
import { createFaultRules } from '../faults/rules.ts';
import { json, refuse, type HttpError } from '../http/answer.ts';
import { createRouter, type Handlers } from '../http/router.ts';
import { SpecRefused } from '../sandboxes/specs.ts';
import type { AppRoute } from '../served-routes.ts';
import type { AppContext } from './context.ts';
import { openapiDocument } from './openapi.ts';
import { ForgejoError } from './repositories/forgejo.ts';
import { conversationHandlersV0 } from './routes/v0/conversations.ts';
import { eventHandlersV0 } from './routes/v0/events.ts';
import { fileHandlersV0 } from './routes/v0/files.ts';
import { gitProviderHandlersV0 } from './routes/v0/git-providers.ts';
import { pageHandlers } from './routes/page.ts';
import { settingsHandlersV0 } from './routes/v0/settings.ts';
import { agentHandlers } from './routes/v1/agent.ts';
import { conversationFileHandlers } from './routes/v1/conversation-files.ts';
import { conversationHandlers } from './routes/v1/conversations.ts';
import { eventHandlers } from './routes/v1/events.ts';
import { lookupHandlers } from './routes/v1/lookups.ts';
import { profileHandlers } from './routes/v1/profiles.ts';
import { sandboxSecretHandlers } from './routes/v1/sandbox-secrets.ts';
import { sandboxHandlers } from './routes/v1/sandboxes.ts';
import { secretHandlers } from './routes/v1/secrets.ts';
import { settingsHandlers } from './routes/v1/settings.ts';
import { sharedHandlers } from './routes/v1/shared.ts';
import { startHandlers } from './routes/v1/starts.ts';
import { WEB_CLIENT_CONFIG } from './routes/v1/web-client.ts';

/** The largest body is a replay or a file. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

type AppHandlers = Handlers<AppRoute>;

/** Builds the app server of a service. */
export function createApp(context: AppContext): Hono {
  const handlers: AppHandlers = {
    ...(context.api === 'v1' ? {} : handlersV0(context)),
    ...(context.api === 'v0' ? {} : handlersV1(context)),
    ...pageHandlers(context),
    'GET /local/activity': () => json(activityOf(context)),
    'GET /openapi.json': () => json(openapiDocument(Object.keys(handlers), context.version)),
  };
  return createRouter(handlers, {
    host: context.host,
    key: context.key,
    acceptsBearer: true,
    maxBodyBytes: MAX_BODY_BYTES,
    faults: context.faults?.length ? createFaultRules(context.faults, context.log) : null,
    onBegin: () => context.activity.begin(),
    onEnd: () => context.activity.end(),
    errorOf,
    log: context.log,
  });
}

function handlersV0(context: AppContext): AppHandlers {
  return {
    ...settingsHandlersV0(context),
    ...gitProviderHandlersV0(context),
    ...conversationHandlersV0(context),
    ...eventHandlersV0(context),
    ...fileHandlersV0(context),
  };
}

function handlersV1(context: AppContext): AppHandlers {
  return {
    ...startHandlers(context),
    ...conversationHandlers(context),
    ...agentHandlers(context),
    ...conversationFileHandlers(context),
    ...eventHandlers(context),
    ...sharedHandlers(context),
    ...sandboxHandlers(context),
    ...sandboxSecretHandlers(context),
    ...settingsHandlers(context),
    ...profileHandlers(context),
    ...secretHandlers(context),
    ...lookupHandlers(context),
    'GET /api/v1/web-client/config': () => json(WEB_CLIENT_CONFIG),
  };
}

/** What runs in the service: a member that is this service's own, read by `acs serve` and before a replacement. */
function activityOf({ store: { conversations, sandboxes, startTasks } }: AppContext): unknown {
  return {
    running: conversations.isAnyRunning() || startTasks.unfinished().length > 0,
    conversations_running: conversations.countRunning(),
    sandboxes_running: sandboxes.all().filter(({ status }) => status === 'RUNNING').length,
  };
}

function errorOf(error: Error): HttpError | null {
  if (error instanceof SpecRefused) return refuse(501, error.message);
  if (error instanceof ForgejoError) return refuse(502, `The git provider cannot be read: ${error.message}`);
  return null;
}
