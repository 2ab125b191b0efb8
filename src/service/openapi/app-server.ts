/** The document of the app server, made by the build: its answers by route. */
import * as v from 'valibot';
import * as agent from '../../protocol/agent-server/requests.ts';
import { uuid } from '../../protocol/detail.ts';
import * as v0 from '../../protocol/v0/requests.ts';
import * as v1 from '../../protocol/v1/requests.ts';
import type { Handlers } from '../http/route.ts';
import type { AppRoute } from '../served-routes.ts';
import * as app from './app-records.ts';
import { openapiDocument, type Answers, type Json } from './document.ts';
import * as records from './records.ts';
import {
  customSecret,
  dictionary,
  either,
  errorMessage,
  event,
  fileChange,
  fileDiff,
  flag,
  integer,
  list,
  message,
  orNull,
  pageOf,
  record,
  refusal,
  success,
  text,
  textOrNull,
  validationError,
} from './records.ts';

const HTML = 'text/html';
const FORGEJO = { 502: refusal };
/** A conversation id of V0 that no conversation can have. */
const V0_ID = { 400: refusal };
const NOT_FOUND = { 404: refusal };
const ofAgent = either(refusal, record({ success: flag(), error: text() }));
const inWorkspace = either(refusal, errorMessage);
/** Over V0 a git provider that refuses is a bare string. */
const unauthorized = either(refusal, text());
const nameAndMessage = record({ name: text(), message: text() });

export const APP_ANSWERS: Readonly<Record<AppRoute, Answers>> = {
  'GET /openapi.json': { 200: dictionary() },
  'GET /local/activity': {
    200: record({
      running: flag(),
      conversations_running: integer(),
      sandboxes_running: integer(),
      unknown_workspaces: list(text()),
    }),
  },
  'POST /local/conversations/{conversation_id}/page-link': {
    200: record({ token: text(), expires_in_seconds: integer() }),
    ...NOT_FOUND,
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
    501: refusal,
  },
  'GET /api/conversations': {
    200: record({ results: list(app.conversationInfo), next_page_id: textOrNull() }),
    400: refusal,
  },
  'GET /api/conversations/{conversation_id}': { 200: orNull(app.conversationInfo), ...V0_ID },
  'PATCH /api/conversations/{conversation_id}': { 200: flag(), ...V0_ID, 404: app.statusError },
  'DELETE /api/conversations/{conversation_id}': { 200: flag(), ...V0_ID },
  'POST /api/conversations/{conversation_id}/start': {
    200: app.conversationAnswer,
    ...V0_ID,
    404: app.statusError,
    409: app.statusError,
    410: app.statusError,
    501: refusal,
  },
  'POST /api/conversations/{conversation_id}/stop': { 200: app.conversationAnswer, ...V0_ID },
  'GET /api/conversations/{conversation_id}/events': {
    200: record({ events: list(app.eventV0), has_more: flag() }),
    ...V0_ID,
    ...NOT_FOUND,
  },
  'POST /api/conversations/{conversation_id}/events': {
    200: success,
    400: ofAgent,
    404: ofAgent,
    409: ofAgent,
    422: either(validationError, ofAgent),
    502: ofAgent,
    503: errorMessage,
    507: ofAgent,
  },
  'GET /api/conversations/{conversation_id}/select-file': {
    200: record({ code: text() }),
    ...V0_ID,
    404: inWorkspace,
    415: errorMessage,
    503: errorMessage,
  },
  'GET /api/conversations/{conversation_id}/git/changes': {
    200: list(fileChange),
    400: inWorkspace,
    404: inWorkspace,
    502: errorMessage,
    503: errorMessage,
  },
  'GET /api/conversations/{conversation_id}/git/diff': {
    200: fileDiff,
    400: inWorkspace,
    404: inWorkspace,
    502: errorMessage,
    503: errorMessage,
  },
  'GET /api/options/config': { 200: record({ APP_MODE: text(), FEATURE_FLAGS: dictionary() }) },
  'GET /api/settings': { 200: app.shownSettingsV0, 404: errorMessage },
  'POST /api/settings': { 200: message },
  'GET /api/secrets': { 200: record({ custom_secrets: list(customSecret) }) },
  'POST /api/secrets': { 201: message, 400: message },
  'DELETE /api/secrets/{secret_id}': { 200: message, 404: errorMessage },
  'POST /api/add-git-providers': { 200: message, 401: either(refusal, errorMessage) },
  'POST /api/unset-provider-tokens': { 200: message },
  'GET /api/user/repositories': { 200: list(app.repository), 401: unauthorized, 501: text(), ...FORGEJO },
  'GET /api/user/search/repositories': { 200: list(app.repository), 401: unauthorized, 501: text(), ...FORGEJO },
  'GET /api/user/repository/branches': {
    200: record({
      branches: list(app.branch),
      has_next_page: flag(),
      current_page: integer(),
      per_page: integer(),
      total_count: v.null(),
    }),
    401: unauthorized,
    501: text(),
    ...FORGEJO,
  },
  'GET /api/user/search/branches': { 200: list(app.branch), 401: unauthorized, 501: text(), ...FORGEJO },
  'GET /api/user/suggested-tasks': { 200: list(app.task), 401: unauthorized, ...FORGEJO },

  'GET /api/v1/web-client/config': {
    200: record({ app_mode: text(), feature_flags: dictionary(), providers_configured: list(text()) }),
  },
  'POST /api/v1/app-conversations': { 200: app.startTask, 400: refusal, 409: refusal, 501: refusal },
  'GET /api/v1/app-conversations': { 200: list(orNull(app.appConversation)), 400: refusal },
  'GET /api/v1/app-conversations/search': { 200: pageOf(app.appConversation) },
  'GET /api/v1/app-conversations/count': { 200: integer() },
  'GET /api/v1/app-conversations/start-tasks': { 200: list(orNull(app.startTask)), 400: refusal },
  'GET /api/v1/app-conversations/start-tasks/search': { 200: pageOf(app.startTask) },
  'PATCH /api/v1/app-conversations/{conversation_id}': { 200: orNull(app.appConversation), ...NOT_FOUND },
  'DELETE /api/v1/app-conversations/{conversation_id}': { 200: success, 400: refusal, ...NOT_FOUND },
  'POST /api/v1/app-conversations/{conversation_id}/send-message': {
    200: record({ success: flag(), sandbox_status: text(), message: v.null() }),
    ...NOT_FOUND,
    409: refusal,
    502: refusal,
    503: refusal,
    507: refusal,
  },
  'POST /api/v1/app-conversations/{conversation_id}/switch_profile': {
    200: success,
    400: refusal,
    ...NOT_FOUND,
    409: refusal,
    502: refusal,
  },
  'POST /api/v1/app-conversations/{conversation_id}/switch_acp_model': { 400: refusal, ...NOT_FOUND, 409: refusal },
  'GET /api/v1/app-conversations/{conversation_id}/file': { 200: text() },
  'GET /api/v1/app-conversations/{conversation_id}/download': { 200: 'application/zip', ...NOT_FOUND },
  'GET /api/v1/conversation/{conversation_id}/events/search': { 200: pageOf(event), 400: refusal },
  'GET /api/v1/conversation/{conversation_id}/events/count': { 200: integer() },
  'GET /api/v1/app-conversations/{conversation_id}/skills': {
    200: record({ skills: list(dictionary()) }),
    404: errorMessage,
  },
  'GET /api/v1/skills/search': { 200: pageOf(dictionary()) },
  'GET /api/shared-conversations': { 200: list(orNull(app.sharedConversation)), 400: refusal },
  'GET /api/shared-events/search': { 200: pageOf(event), 400: refusal },
  'POST /api/v1/sandboxes': { 200: app.sandbox, 400: refusal, 501: refusal },
  'GET /api/v1/sandboxes': { 200: list(orNull(app.sandbox)), 400: refusal },
  'GET /api/v1/sandboxes/search': { 200: pageOf(app.sandbox) },
  'POST /api/v1/sandboxes/{sandbox_id}/pause': { 200: success, ...NOT_FOUND },
  'POST /api/v1/sandboxes/{sandbox_id}/resume': { 200: success, ...NOT_FOUND, 501: refusal },
  'DELETE /api/v1/sandboxes': { 200: success, ...NOT_FOUND },
  'DELETE /api/v1/sandboxes/{id}': { 200: success, 400: refusal, ...NOT_FOUND },
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets': {
    200: record({ secrets: list(customSecret) }),
    401: refusal,
    403: refusal,
    security: 'sandboxKey',
  },
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}': {
    200: 'text/plain',
    401: refusal,
    403: refusal,
    ...NOT_FOUND,
    security: 'sandboxKey',
  },
  'GET /api/v1/sandbox-specs': { 200: list(orNull(app.sandboxSpec)) },
  'GET /api/v1/sandbox-specs/search': { 200: pageOf(app.sandboxSpec) },
  'GET /api/v1/settings': { 200: app.shownSettings, 404: errorMessage },
  'POST /api/v1/settings': { 200: message, 400: errorMessage, 422: either(validationError, errorMessage) },
  'GET /api/v1/settings/agent-schema': { 200: app.settingsSchema },
  'GET /api/v1/settings/conversation-schema': { 200: app.settingsSchema },
  'GET /api/v1/settings/profiles': {
    200: record({ profiles: list(app.modelProfile), active_profile: textOrNull() }),
  },
  'GET /api/v1/settings/profiles/{name}': {
    200: record({ name: text(), config: dictionary(), api_key_set: flag() }),
    ...NOT_FOUND,
  },
  'POST /api/v1/settings/profiles/{name}': { 201: nameAndMessage, ...NOT_FOUND, 409: refusal },
  'DELETE /api/v1/settings/profiles/{name}': { 200: nameAndMessage },
  'POST /api/v1/settings/profiles/{name}/activate': {
    200: record({ name: text(), message: text(), model: textOrNull() }),
    ...NOT_FOUND,
  },
  'POST /api/v1/settings/profiles/{name}/rename': { 200: nameAndMessage, ...NOT_FOUND, 409: refusal },
  'GET /api/v1/users/me': { 200: app.user },
  'GET /api/v1/secrets/search': { 200: pageOf(customSecret) },
  'POST /api/v1/secrets': { 201: message },
  'PUT /api/v1/secrets/{secret_id}': { 200: message, 400: refusal, ...NOT_FOUND },
  'DELETE /api/v1/secrets/{secret_id}': { 200: message, ...NOT_FOUND },
  'POST /api/v1/secrets/git-providers': { 200: message },
  'DELETE /api/v1/secrets/git-providers': { 200: message },
  'GET /api/v1/git/installations/search': { 400: refusal, 403: refusal, 501: refusal },
  'GET /api/v1/git/repositories/search': { 200: pageOf(app.repository), 403: refusal, 501: refusal, ...FORGEJO },
  'GET /api/v1/git/branches/search': { 200: pageOf(app.branch), 403: refusal, 501: refusal, ...FORGEJO },
  'GET /api/v1/git/suggested-tasks/search': { 200: pageOf(app.task), 403: refusal, ...FORGEJO },
  'GET /api/v1/config/models/search': { 200: pageOf(record({ provider: textOrNull(), name: text() })) },
  'GET /api/v1/config/providers/search': { 200: pageOf(record({ name: text(), verified: flag() })) },
};

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
      sandboxKey: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key', description: 'The key of the sandbox' },
      pageCookie: { type: 'apiKey', in: 'cookie', name: 'acs_page' },
    },
  });
}
