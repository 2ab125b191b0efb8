/** The document of the app server, made by the build: its answers by route. */
import * as v from 'valibot';
import * as agent from '../../protocol/agent-server/requests.ts';
import { uuid } from '../../protocol/detail.ts';
import * as v0 from '../../protocol/v0/requests.ts';
import * as v1 from '../../protocol/v1/requests.ts';
import type { Handlers } from '../http/route.ts';
import type { AppRoute } from '../http/served-routes.ts';
import * as app from './app-records.ts';
import { openapiDocument, refused, type Answers, type Json } from './document.ts';
import * as records from './records.ts';
import { dictionary, integer, pageOf, profile, textOrNull, texts } from './records.ts';

const HTML = 'text/html';
const nameAndMessage = v.object(texts('name', 'message'));
const ofAgent = v.union([records.refusal, v.object({ success: v.boolean(), error: v.string() })]);
const inWorkspace = v.union([records.refusal, records.errorMessage]);
const OF_CHANGES = {
  400: inWorkspace,
  404: inWorkspace,
  502: records.errorMessage,
  503: records.errorMessage,
};
/** Over V0 the refusal of a git provider is a bare string. */
const unauthorized = v.union([records.refusal, v.string()]);
const OF_PROVIDER_V0 = { 401: unauthorized, 501: v.string(), ...refused(502) };

export const APP_ANSWERS: Readonly<Record<AppRoute, Answers>> = {
  'GET /openapi.json': { 200: dictionary() },
  'GET /local/activity': {
    200: v.object({
      running: v.boolean(),
      conversations_running: integer(),
      sandboxes_running: integer(),
      unknown_workspaces: v.array(v.string()),
    }),
  },
  'POST /local/conversations/{conversation_id}/page-link': {
    200: v.object({ ...texts('token'), expires_in_seconds: integer() }),
    ...refused(404),
  },
  'GET /local/conversations/{conversation_id}/changes': {
    200: v.object(texts('patch')),
    ...refused(404),
  },
  'GET /conversations/{conversation_id}': {
    200: HTML,
    303: null,
    401: HTML,
    403: HTML,
    404: HTML,
    security: 'pageCookie',
  },
  'GET /conversations/{conversation_id}/live': {
    200: 'text/event-stream',
    401: HTML,
    404: HTML,
    security: 'pageCookie',
    headers: ['Last-Event-ID'],
  },

  'POST /api/conversations': {
    200: app.conversationAnswer,
    400: app.statusError,
    401: unauthorized,
    409: app.statusError,
    ...refused(501),
  },
  'GET /api/conversations': {
    200: v.object({ results: v.array(app.conversationInfo), next_page_id: textOrNull() }),
    ...refused(400),
  },
  // 400: no conversation of V0 can have this id.
  'GET /api/conversations/{conversation_id}': {
    200: v.nullable(app.conversationInfo),
    ...refused(400),
  },
  'PATCH /api/conversations/{conversation_id}': {
    200: v.boolean(),
    ...refused(400),
    404: app.statusError,
  },
  'DELETE /api/conversations/{conversation_id}': { 200: v.boolean(), ...refused(400) },
  'POST /api/conversations/{conversation_id}/start': {
    200: app.conversationAnswer,
    404: app.statusError,
    409: app.statusError,
    410: app.statusError,
    ...refused(400, 501),
  },
  'POST /api/conversations/{conversation_id}/stop': {
    200: app.conversationAnswer,
    ...refused(400),
  },
  'GET /api/conversations/{conversation_id}/events': {
    200: v.object({ events: v.array(app.eventV0), has_more: v.boolean() }),
    ...refused(400, 404),
  },
  'POST /api/conversations/{conversation_id}/events': {
    200: records.success,
    400: ofAgent,
    404: ofAgent,
    409: ofAgent,
    422: v.union([records.validationError, ofAgent]),
    502: ofAgent,
    503: records.errorMessage,
    507: ofAgent,
  },
  'GET /api/conversations/{conversation_id}/select-file': {
    200: v.object(texts('code')),
    ...refused(400),
    404: inWorkspace,
    415: records.errorMessage,
    503: records.errorMessage,
  },
  'GET /api/conversations/{conversation_id}/git/changes': {
    200: v.array(records.fileChange),
    ...OF_CHANGES,
  },
  'GET /api/conversations/{conversation_id}/git/diff': { 200: records.fileDiff, ...OF_CHANGES },
  'GET /api/options/config': {
    200: v.object({ APP_MODE: v.string(), FEATURE_FLAGS: dictionary() }),
  },
  'GET /api/settings': { 200: app.shownSettingsV0, 404: records.errorMessage },
  'POST /api/settings': { 200: records.message },
  'GET /api/secrets': { 200: v.object({ custom_secrets: v.array(records.customSecret) }) },
  'POST /api/secrets': { 201: records.message, 400: records.message },
  'DELETE /api/secrets/{secret_id}': { 200: records.message, 404: records.errorMessage },
  'POST /api/add-git-providers': {
    200: records.message,
    401: v.union([records.refusal, records.errorMessage]),
  },
  'POST /api/unset-provider-tokens': { 200: records.message },
  'GET /api/user/repositories': { 200: v.array(app.repository), ...OF_PROVIDER_V0 },
  'GET /api/user/search/repositories': { 200: v.array(app.repository), ...OF_PROVIDER_V0 },
  'GET /api/user/repository/branches': {
    200: v.object({
      branches: v.array(app.branch),
      has_next_page: v.boolean(),
      current_page: integer(),
      per_page: integer(),
      total_count: v.null(),
    }),
    ...OF_PROVIDER_V0,
  },
  'GET /api/user/search/branches': { 200: v.array(app.branch), ...OF_PROVIDER_V0 },
  'GET /api/user/suggested-tasks': { 200: v.array(app.task), 401: unauthorized, ...refused(502) },

  'GET /api/v1/web-client/config': {
    200: v.object({
      app_mode: v.string(),
      feature_flags: dictionary(),
      providers_configured: v.array(v.string()),
    }),
  },
  'POST /api/v1/app-conversations': { 200: app.startTask, ...refused(400, 409, 501) },
  'GET /api/v1/app-conversations': {
    200: v.array(v.nullable(app.appConversation)),
    ...refused(400),
  },
  'GET /api/v1/app-conversations/search': { 200: pageOf(app.appConversation) },
  'GET /api/v1/app-conversations/count': { 200: integer() },
  'GET /api/v1/app-conversations/start-tasks': {
    200: v.array(v.nullable(app.startTask)),
    ...refused(400),
  },
  'GET /api/v1/app-conversations/start-tasks/search': { 200: pageOf(app.startTask) },
  'PATCH /api/v1/app-conversations/{conversation_id}': {
    200: v.nullable(app.appConversation),
    ...refused(404),
  },
  'DELETE /api/v1/app-conversations/{conversation_id}': {
    200: records.success,
    ...refused(400, 404),
  },
  'POST /api/v1/app-conversations/{conversation_id}/send-message': {
    200: v.object({ success: v.boolean(), sandbox_status: v.string(), message: v.null() }),
    ...refused(404, 409, 502, 503, 507),
  },
  'POST /api/v1/app-conversations/{conversation_id}/switch_profile': {
    200: records.success,
    ...refused(400, 404, 409, 502),
  },
  'POST /api/v1/app-conversations/{conversation_id}/switch_acp_model': refused(400, 404, 409),
  'GET /api/v1/app-conversations/{conversation_id}/file': { 200: v.string() },
  'GET /api/v1/app-conversations/{conversation_id}/download': {
    200: 'application/zip',
    ...refused(404),
  },
  'GET /api/v1/conversation/{conversation_id}/events/search': {
    200: pageOf(records.event),
    ...refused(400),
  },
  'GET /api/v1/conversation/{conversation_id}/events/count': { 200: integer() },
  'GET /api/v1/app-conversations/{conversation_id}/skills': {
    200: v.object({ skills: v.array(dictionary()) }),
    404: records.errorMessage,
  },
  'GET /api/v1/skills/search': { 200: pageOf(dictionary()) },
  'GET /api/shared-conversations': {
    200: v.array(v.nullable(app.sharedConversation)),
    ...refused(400),
  },
  'GET /api/shared-events/search': { 200: pageOf(records.event), ...refused(400) },
  'POST /api/v1/sandboxes': { 200: app.sandbox, ...refused(400, 501) },
  'GET /api/v1/sandboxes': { 200: v.array(v.nullable(app.sandbox)), ...refused(400) },
  'GET /api/v1/sandboxes/search': { 200: pageOf(app.sandbox) },
  'POST /api/v1/sandboxes/{sandbox_id}/pause': { 200: records.success, ...refused(404) },
  'POST /api/v1/sandboxes/{sandbox_id}/resume': { 200: records.success, ...refused(404, 501) },
  'DELETE /api/v1/sandboxes': { 200: records.success, ...refused(404) },
  'DELETE /api/v1/sandboxes/{id}': { 200: records.success, ...refused(400, 404) },
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets': {
    200: v.object({ secrets: v.array(records.customSecret) }),
    ...refused(401, 403),
    security: 'sandboxKey',
  },
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}': {
    200: 'text/plain',
    ...refused(401, 403, 404),
    security: 'sandboxKey',
  },
  'GET /api/v1/sandbox-specs': { 200: v.array(v.nullable(app.sandboxSpec)) },
  'GET /api/v1/sandbox-specs/search': { 200: pageOf(app.sandboxSpec) },
  'GET /api/v1/settings': { 200: app.shownSettings, 404: records.errorMessage },
  'POST /api/v1/settings': {
    200: records.message,
    400: records.errorMessage,
    422: v.union([records.validationError, records.errorMessage]),
  },
  'GET /api/v1/settings/agent-schema': { 200: app.settingsSchema },
  'GET /api/v1/settings/conversation-schema': { 200: app.settingsSchema },
  'GET /api/v1/settings/profiles': {
    200: v.object({ profiles: v.array(app.modelProfile), active_profile: textOrNull() }),
  },
  'GET /api/v1/settings/profiles/{name}': { 200: profile(), ...refused(404) },
  'POST /api/v1/settings/profiles/{name}': { 201: nameAndMessage, ...refused(404, 409) },
  'DELETE /api/v1/settings/profiles/{name}': { 200: nameAndMessage },
  'POST /api/v1/settings/profiles/{name}/activate': {
    200: v.object({ ...nameAndMessage.entries, model: textOrNull() }),
    ...refused(404),
  },
  'POST /api/v1/settings/profiles/{name}/rename': { 200: nameAndMessage, ...refused(404, 409) },
  'GET /api/v1/users/me': { 200: app.user },
  'GET /api/v1/secrets/search': { 200: pageOf(records.customSecret) },
  'POST /api/v1/secrets': { 201: records.message },
  'PUT /api/v1/secrets/{secret_id}': { 200: records.message, ...refused(400, 404) },
  'DELETE /api/v1/secrets/{secret_id}': { 200: records.message, ...refused(404) },
  'POST /api/v1/secrets/git-providers': { 200: records.message },
  'DELETE /api/v1/secrets/git-providers': { 200: records.message },
  'GET /api/v1/git/installations/search': refused(400, 403, 501),
  'GET /api/v1/git/repositories/search': { 200: pageOf(app.repository), ...refused(403, 501, 502) },
  'GET /api/v1/git/branches/search': { 200: pageOf(app.branch), ...refused(403, 501, 502) },
  'GET /api/v1/git/suggested-tasks/search': { 200: pageOf(app.task), ...refused(403, 502) },
  'GET /api/v1/config/models/search': {
    200: pageOf(v.object({ provider: textOrNull(), name: v.string() })),
  },
  'GET /api/v1/config/providers/search': {
    200: pageOf(v.object({ name: v.string(), verified: v.boolean() })),
  },
};

/** Features that no route shows, by their names in the client (src/client/shared/features.ts). */
const STATED_FEATURES = {
  'web-interface': false,
  'immediate-events': true,
  'old-v0-conversations': true,
  'v0-sandboxes': true,
  'local-paths': true,
  'demo-replay': true,
  'exec-socket': true,
};

const V1_PARTS = { conversation_id: uuid(), name: v1.profileName() };

export function appDocument(handlers: Handlers<AppRoute>, version: string): Json {
  const description = 'Serves the interface of OpenHands servers locally';
  return openapiDocument({
    info: { title: 'acs local service', description, version, 'x-features': STATED_FEATURES },
    handlers,
    answers: APP_ANSWERS,
    modules: [
      [agent, ''],
      [v0, 'V0'],
      [v1, ''],
      [records, ''],
      [app, ''],
    ],
    partsOf: (path) => (/^\/(?:api\/v1|local)\//.test(path) ? V1_PARTS : {}),
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' },
      bearer: { type: 'http', scheme: 'bearer' },
      sandboxKey: {
        type: 'apiKey',
        in: 'header',
        name: 'X-Session-API-Key',
        description: 'The key of the sandbox',
      },
      pageCookie: { type: 'apiKey', in: 'cookie', name: 'acs_page' },
    },
  });
}
