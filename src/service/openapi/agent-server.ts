/** The document of an agent server, made by the build: its answers by route. */
import * as v from 'valibot';
import * as agent from '../../protocol/agent-server/requests.ts';
import { uuid } from '../../protocol/detail.ts';
import { profileName } from '../../protocol/v1/requests.ts';
import type { Handlers } from '../http/route.ts';
import type { AgentRoute } from '../served-routes.ts';
import { openapiDocument, type Answers, type Json } from './document.ts';
import * as records from './records.ts';
import {
  customSecret,
  dictionary,
  either,
  errorMessage,
  event,
  executionStatus,
  fileChange,
  fileDiff,
  flag,
  integer,
  list,
  orNull,
  pageOf,
  record,
  refusal,
  success,
  text,
  textOrNull,
  validationError,
} from './records.ts';

const conversation = record({
  id: text(),
  workspace: record({ working_dir: text(), kind: text() }),
  persistence_dir: text(),
  max_iterations: integer(),
  stuck_detection: flag(),
  execution_status: executionStatus,
  confirmation_policy: record({ kind: text() }),
  security_analyzer: orNull(record({ kind: text() })),
  last_user_message_id: textOrNull(),
  leaf_event_id: textOrNull(),
  stats: dictionary(),
  secret_registry: dictionary(),
  title: textOrNull(),
  created_at: text(),
  updated_at: text(),
  tags: v.record(v.string(), v.string()),
  agent: record({ kind: text(), llm: dictionary(), tools: list(record({ name: text() })) }),
});

const settings = record({
  agent_settings: dictionary(),
  conversation_settings: dictionary(),
  llm_api_key_is_set: flag(),
  active_profile: textOrNull(),
});

const stamped = { id: text(), timestamp: text() };
const bashCommandEvent = record({
  ...stamped,
  kind: v.literal('BashCommand'),
  command: text(),
  cwd: textOrNull(),
  timeout: integer(),
});
const bashOutputEvent = record({
  ...stamped,
  kind: v.literal('BashOutput'),
  command_id: text(),
  order: integer(),
  exit_code: orNull(integer()),
  stdout: textOrNull(),
  stderr: textOrNull(),
});
const bashEvent = either(bashCommandEvent, bashOutputEvent);
const components = { conversation, settings, bashCommandEvent, bashOutputEvent };

const BYTES = 'application/octet-stream';
/** `plaintext` shows keys in clear. */
const EXPOSE = ['X-Expose-Secrets'];
const NOT_FOUND = { 404: refusal };
const CHANGED = { 200: success, ...NOT_FOUND };
/** What the isolation refuses, does not find, or cannot be asked. */
const INSIDE = { 400: refusal, 404: refusal, 503: refusal };

export const AGENT_ANSWERS: Readonly<Record<AgentRoute, Answers>> = {
  'GET /openapi.json': { 200: dictionary() },
  'POST /local/conversations/{conversation_id}/user_command': { ...CHANGED, 409: refusal },
  'GET /alive': { 200: record({ status: text() }) },
  'GET /health': { 200: record({ status: text() }) },
  'GET /ready': { 200: record({ status: text() }) },
  'GET /server_info': {
    200: record({
      title: text(),
      version: text(),
      uptime: integer(),
      idle_time: integer(),
      usable_tools: list(text()),
    }),
  },
  'GET /api/tools/': { 200: list(text()) },
  'GET /api/vscode/url': { 200: record({ url: v.null() }) },

  'POST /api/skills': { 200: record({ skills: list(dictionary()), sources: dictionary() }) },
  'GET /api/settings': { 200: settings, 400: refusal, headers: EXPOSE },
  'PATCH /api/settings': {
    200: settings,
    400: either(refusal, errorMessage),
    422: either(validationError, errorMessage),
  },
  'GET /api/settings/secrets': { 200: record({ secrets: list(customSecret) }) },
  'PUT /api/settings/secrets': { 200: customSecret },
  'GET /api/settings/secrets/{name}': { 200: 'text/plain', ...NOT_FOUND },
  'DELETE /api/settings/secrets/{name}': { 200: record({ deleted: flag() }), ...NOT_FOUND },
  'GET /api/profiles/{name}': {
    200: record({ name: text(), config: dictionary(), api_key_set: flag() }),
    400: refusal,
    ...NOT_FOUND,
    headers: EXPOSE,
  },

  'POST /api/conversations': {
    200: conversation,
    201: conversation,
    400: refusal,
    ...NOT_FOUND,
    409: refusal,
    501: refusal,
  },
  'GET /api/conversations': { 200: list(orNull(conversation)), 400: refusal },
  'GET /api/conversations/search': { 200: pageOf(conversation) },
  'GET /api/conversations/count': { 200: integer() },
  'GET /api/conversations/{conversation_id}': { 200: conversation, ...NOT_FOUND },
  'PATCH /api/conversations/{conversation_id}': CHANGED,
  'DELETE /api/conversations/{conversation_id}': CHANGED,
  'GET /api/conversations/{conversation_id}/agent_final_response': { 200: record({ response: text() }), ...NOT_FOUND },
  'POST /api/conversations/{conversation_id}/run': { ...CHANGED, 409: refusal },
  'POST /api/conversations/{conversation_id}/pause': CHANGED,
  'POST /api/conversations/{conversation_id}/interrupt': CHANGED,
  'POST /api/conversations/{conversation_id}/ask_agent': {
    200: record({ response: text() }),
    400: refusal,
    ...NOT_FOUND,
    502: refusal,
  },
  'POST /api/conversations/{conversation_id}/condense': { ...CHANGED, 400: refusal, 502: refusal },
  'POST /api/conversations/{conversation_id}/secrets': { ...CHANGED, 400: refusal },
  'POST /api/conversations/{conversation_id}/confirmation_policy': CHANGED,
  'POST /api/conversations/{conversation_id}/security_analyzer': CHANGED,
  'POST /api/conversations/{conversation_id}/switch_llm': CHANGED,
  'POST /api/conversations/{conversation_id}/fork': { 201: conversation, ...NOT_FOUND, 409: refusal },
  'POST /api/conversations/{conversation_id}/generate_title': { 200: record({ title: text() }), ...NOT_FOUND },

  'GET /api/conversations/{conversation_id}/events/search': { 200: pageOf(event), ...NOT_FOUND },
  'GET /api/conversations/{conversation_id}/events/count': { 200: integer(), ...NOT_FOUND },
  'GET /api/conversations/{conversation_id}/events/{event_id}': { 200: event, ...NOT_FOUND },
  'POST /api/conversations/{conversation_id}/events': { ...CHANGED, 409: refusal },
  'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': { ...CHANGED, 409: refusal },

  'POST /api/bash/execute_bash_command': { 200: bashOutputEvent, ...INSIDE },
  'POST /api/bash/start_bash_command': { 200: bashCommandEvent },
  'GET /api/bash/bash_events/search': { 200: pageOf(bashEvent) },
  'GET /api/bash/bash_events/{event_id}': { 200: bashEvent, ...NOT_FOUND },
  'GET /api/git/changes': { 200: list(fileChange), ...INSIDE },
  'GET /api/git/diff': { 200: fileDiff, ...INSIDE },
  'GET /api/git/changes/{path:path}': { 200: list(fileChange), ...INSIDE },
  'GET /api/git/diff/{path:path}': { 200: fileDiff, ...INSIDE },
  'GET /api/file/download': { 200: BYTES, ...INSIDE },
  'POST /api/file/upload': { 200: success, ...INSIDE },
  'GET /api/file/download/{path:path}': { 200: BYTES, ...INSIDE },
  'POST /api/file/upload/{path:path}': { 200: success, ...INSIDE },
  'GET /api/file/home': { 200: record({ home: text(), favorites: list(dictionary()), locations: list(dictionary()) }) },
  'GET /api/file/archive': { 200: 'text/x-patch', ...INSIDE },
  'GET /api/file/download-trajectory/{conversation_id}': { 200: BYTES, ...NOT_FOUND },
};

const PARTS = { conversation_id: uuid() };

export function agentDocument(handlers: Handlers<AgentRoute>, version: string): Json {
  return openapiDocument({
    info: { title: 'Agent server of the local service', version },
    handlers,
    answers: AGENT_ANSWERS,
    modules: [
      [agent, ''],
      [records, ''],
      [components, ''],
    ],
    partsOf: (path) => (path.startsWith('/api/profiles/') ? { name: profileName() } : PARTS),
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' } },
  });
}
