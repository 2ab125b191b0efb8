/** The document of an agent server, made by the build: its answers by route. */
import * as v from 'valibot';
import * as agent from '../../protocol/agent-server/requests.ts';
import { uuid } from '../../protocol/detail.ts';
import { profileName } from '../../protocol/v1/requests.ts';
import type { Handlers } from '../http/route.ts';
import type { AgentRoute } from '../http/served-routes.ts';
import { openapiDocument, refused, type Answers, type Json } from './document.ts';
import * as records from './records.ts';
import { dictionary, integer, pageOf, profile, textOrNull, texts, textsOrNull } from './records.ts';

const conversation = v.object({
  ...texts('id', 'persistence_dir', 'created_at', 'updated_at'),
  ...textsOrNull('last_user_message_id', 'leaf_event_id', 'title'),
  workspace: v.object(texts('working_dir', 'kind')),
  max_iterations: integer(),
  stuck_detection: v.boolean(),
  execution_status: records.executionStatus,
  confirmation_policy: v.object(texts('kind')),
  security_analyzer: v.nullable(v.object(texts('kind'))),
  stats: dictionary(),
  secret_registry: dictionary(),
  tags: v.record(v.string(), v.string()),
  agent: v.object({ kind: v.string(), llm: dictionary(), tools: v.array(v.object(texts('name'))) }),
});

const settings = v.object({
  agent_settings: dictionary(),
  conversation_settings: dictionary(),
  llm_api_key_is_set: v.boolean(),
  active_profile: textOrNull(),
});

const bashCommandEvent = v.object({
  ...texts('id', 'timestamp', 'command'),
  kind: v.literal('BashCommand'),
  cwd: textOrNull(),
  timeout: integer(),
});
const bashOutputEvent = v.object({
  ...texts('id', 'timestamp', 'command_id'),
  ...textsOrNull('stdout', 'stderr'),
  kind: v.literal('BashOutput'),
  order: integer(),
  exit_code: v.nullable(integer()),
});
const bashEvent = v.union([bashCommandEvent, bashOutputEvent]);
const components = { conversation, settings, bashCommandEvent, bashOutputEvent };

const response = v.object(texts('response'));
const BYTES = 'application/octet-stream';
/** `plaintext` shows keys in clear. */
const EXPOSE = ['X-Expose-Secrets'];
const status = v.object(texts('status'));
const CHANGED = { 200: records.success, ...refused(404) };
/** The isolation refuses the request, does not find the file, or does not answer. */
const INSIDE = refused(400, 404, 503);

export const AGENT_ANSWERS: Readonly<Record<AgentRoute, Answers>> = {
  'GET /openapi.json': { 200: dictionary() },
  'POST /local/conversations/{conversation_id}/user_command': { ...CHANGED, ...refused(409) },
  'GET /alive': { 200: status },
  'GET /health': { 200: status },
  'GET /ready': { 200: status },
  'GET /server_info': {
    200: v.object({
      ...texts('title', 'version'),
      uptime: integer(),
      idle_time: integer(),
      usable_tools: v.array(v.string()),
    }),
  },
  'GET /api/tools/': { 200: v.array(v.string()) },
  'GET /api/vscode/url': { 200: v.object({ url: v.null() }) },

  'POST /api/skills': { 200: v.object({ skills: v.array(dictionary()), sources: dictionary() }) },
  'GET /api/settings': { 200: settings, ...refused(400), headers: EXPOSE },
  'PATCH /api/settings': {
    200: settings,
    400: v.union([records.refusal, records.errorMessage]),
    422: v.union([records.validationError, records.errorMessage]),
  },
  'GET /api/settings/secrets': { 200: v.object({ secrets: v.array(records.customSecret) }) },
  'PUT /api/settings/secrets': { 200: records.customSecret },
  'GET /api/settings/secrets/{name}': { 200: 'text/plain', ...refused(404) },
  'DELETE /api/settings/secrets/{name}': {
    200: v.object({ deleted: v.boolean() }),
    ...refused(404),
  },
  'GET /api/profiles/{name}': { 200: profile(), ...refused(400, 404), headers: EXPOSE },

  'POST /api/conversations': {
    200: conversation,
    201: conversation,
    ...refused(400, 404, 409, 501),
  },
  'GET /api/conversations': { 200: v.array(v.nullable(conversation)), ...refused(400) },
  'GET /api/conversations/search': { 200: pageOf(conversation) },
  'GET /api/conversations/count': { 200: integer() },
  'GET /api/conversations/{conversation_id}': { 200: conversation, ...refused(404) },
  'PATCH /api/conversations/{conversation_id}': CHANGED,
  'DELETE /api/conversations/{conversation_id}': CHANGED,
  'GET /api/conversations/{conversation_id}/agent_final_response': {
    200: response,
    ...refused(404),
  },
  'POST /api/conversations/{conversation_id}/run': { ...CHANGED, ...refused(409) },
  'POST /api/conversations/{conversation_id}/pause': CHANGED,
  'POST /api/conversations/{conversation_id}/interrupt': CHANGED,
  'POST /api/conversations/{conversation_id}/ask_agent': {
    200: response,
    ...refused(400, 404, 502),
  },
  'POST /api/conversations/{conversation_id}/condense': { ...CHANGED, ...refused(400, 502) },
  'POST /api/conversations/{conversation_id}/secrets': { ...CHANGED, ...refused(400) },
  'POST /api/conversations/{conversation_id}/confirmation_policy': CHANGED,
  'POST /api/conversations/{conversation_id}/security_analyzer': CHANGED,
  'POST /api/conversations/{conversation_id}/switch_llm': CHANGED,
  'POST /api/conversations/{conversation_id}/fork': { 201: conversation, ...refused(404, 409) },
  'POST /api/conversations/{conversation_id}/generate_title': {
    200: v.object(texts('title')),
    ...refused(404),
  },

  'GET /api/conversations/{conversation_id}/events/search': {
    200: pageOf(records.event),
    ...refused(404),
  },
  'GET /api/conversations/{conversation_id}/events/count': { 200: integer(), ...refused(404) },
  'GET /api/conversations/{conversation_id}/events/{event_id}': {
    200: records.event,
    ...refused(404),
  },
  'POST /api/conversations/{conversation_id}/events': { ...CHANGED, ...refused(409) },
  'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': {
    ...CHANGED,
    ...refused(409),
  },

  'POST /api/bash/execute_bash_command': { 200: bashOutputEvent, ...INSIDE },
  'POST /api/bash/start_bash_command': { 200: bashCommandEvent },
  'GET /api/bash/bash_events/search': { 200: pageOf(bashEvent) },
  'GET /api/bash/bash_events/{event_id}': { 200: bashEvent, ...refused(404) },
  'GET /api/git/changes': { 200: v.array(records.fileChange), ...INSIDE },
  'GET /api/git/diff': { 200: records.fileDiff, ...INSIDE },
  'GET /api/git/changes/{path:path}': { 200: v.array(records.fileChange), ...INSIDE },
  'GET /api/git/diff/{path:path}': { 200: records.fileDiff, ...INSIDE },
  'GET /api/file/download': { 200: BYTES, ...INSIDE },
  'POST /api/file/upload': { 200: records.success, ...INSIDE },
  'GET /api/file/download/{path:path}': { 200: BYTES, ...INSIDE },
  'POST /api/file/upload/{path:path}': { 200: records.success, ...INSIDE },
  'GET /api/file/home': {
    200: v.object({
      home: v.string(),
      favorites: v.array(dictionary()),
      locations: v.array(dictionary()),
    }),
  },
  'GET /api/file/archive': { 200: 'text/x-patch', ...INSIDE },
  'GET /api/file/download-trajectory/{conversation_id}': { 200: BYTES, ...refused(404) },
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
