/**
 * A route is served when a client of the service calls it. `npm run generate` writes
 * docs/served-routes.md from these tables. Callers are separated by commas; `sdk 1.11.5` is a call
 * that later releases of openhands-sdk do not make; `cloud workspace 1.11.5` likewise.
 */

/**
 * Routes of the app server by `METHOD /path`; `{name}` is a part of the path, `{name:path}` may
 * contain slashes.
 */
export const APP_ROUTES = {
  'GET /openapi.json': 'acs (probe)',
  'GET /local/activity': 'acs serve',
  'POST /local/conversations/{conversation_id}/page-link': 'acs conv open',
  'GET /local/conversations/{conversation_id}/changes': 'acs conv export',
  'GET /conversations/{conversation_id}': 'browser (acs conv open)',
  'GET /conversations/{conversation_id}/live': 'browser (acs conv open)',

  'POST /api/conversations': 'acs conv new',
  'GET /api/conversations': 'acs conv list',
  'GET /api/conversations/{conversation_id}': 'acs conv show',
  'PATCH /api/conversations/{conversation_id}': 'acs conv rename',
  'DELETE /api/conversations/{conversation_id}': 'acs conv delete',
  'POST /api/conversations/{conversation_id}/start': 'acs conv resume',
  'POST /api/conversations/{conversation_id}/stop': 'acs conv stop',
  'GET /api/conversations/{conversation_id}/events':
    'acs conv events, acs conv export, acs conv follow',
  'POST /api/conversations/{conversation_id}/events':
    'acs conv send, acs conv confirm, acs conv resume',
  'GET /api/conversations/{conversation_id}/git/changes': 'acs conv diff',
  'GET /api/conversations/{conversation_id}/git/diff': 'acs conv diff',
  'GET /api/conversations/{conversation_id}/select-file': 'acs conv new',
  'GET /api/options/config': 'acs (probe)',
  'GET /api/settings': 'acs settings get',
  'POST /api/settings': 'acs settings set',
  'GET /api/secrets': 'acs secret list',
  'POST /api/secrets': 'acs secret set',
  'DELETE /api/secrets/{secret_id}': 'acs secret delete',
  'POST /api/add-git-providers': 'acs git-provider set, acs git-provider delete, acs settings set',
  'POST /api/unset-provider-tokens': 'acs git-provider delete, acs settings unset',
  'GET /api/user/repositories': 'acs repo list',
  'GET /api/user/search/repositories': 'acs repo list',
  'GET /api/user/repository/branches': 'acs repo branches',
  'GET /api/user/search/branches': 'acs repo branches',
  'GET /api/user/suggested-tasks': 'acs git-provider list',

  'GET /api/v1/web-client/config': 'acs (probe)',
  'POST /api/v1/app-conversations': 'acs conv new, openhands CLI, typescript-client',
  'GET /api/v1/app-conversations': 'acs conv show, openhands CLI, typescript-client',
  'GET /api/v1/app-conversations/search': 'acs conv list, typescript-client',
  'GET /api/v1/app-conversations/count': 'acs (probe)',
  'GET /api/v1/app-conversations/start-tasks': 'acs conv new, openhands CLI, typescript-client',
  'GET /api/v1/app-conversations/start-tasks/search': 'acs conv new',
  'PATCH /api/v1/app-conversations/{conversation_id}': 'acs conv rename, typescript-client',
  'DELETE /api/v1/app-conversations/{conversation_id}': 'acs conv delete, typescript-client',
  'POST /api/v1/app-conversations/{conversation_id}/send-message': 'acs conv send',
  'POST /api/v1/app-conversations/{conversation_id}/switch_profile': 'typescript-client',
  'POST /api/v1/app-conversations/{conversation_id}/switch_acp_model': 'typescript-client',
  'GET /api/v1/app-conversations/{conversation_id}/file': 'typescript-client',
  'GET /api/v1/app-conversations/{conversation_id}/download': 'typescript-client',
  'GET /api/v1/conversation/{conversation_id}/events/search':
    'acs conv events, acs conv export, acs conv follow',
  'GET /api/v1/conversation/{conversation_id}/events/count': 'openhands-api skill',
  'GET /api/v1/app-conversations/{conversation_id}/skills': 'OpenHands frontend',
  'GET /api/v1/skills/search': 'typescript-client',
  'GET /api/shared-conversations': 'typescript-client',
  'GET /api/shared-events/search': 'typescript-client',
  'POST /api/v1/sandboxes': 'acs conv new, cloud workspace',
  'GET /api/v1/sandboxes': 'acs sandbox show, cloud workspace, typescript-client',
  'GET /api/v1/sandboxes/search': 'acs sandbox list',
  'POST /api/v1/sandboxes/{sandbox_id}/pause': 'acs sandbox pause, typescript-client',
  'POST /api/v1/sandboxes/{sandbox_id}/resume':
    'acs sandbox start, cloud workspace, typescript-client',
  'DELETE /api/v1/sandboxes': 'cloud workspace 1.11.5',
  'DELETE /api/v1/sandboxes/{id}': 'acs sandbox delete, cloud workspace',
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets': 'cloud workspace',
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}': 'cloud workspace',
  'GET /api/v1/sandbox-specs': 'acs sandbox start',
  'GET /api/v1/sandbox-specs/search': 'acs specs list',
  'GET /api/v1/settings': 'acs settings get, openhands CLI, typescript-client',
  'POST /api/v1/settings': 'acs settings set, typescript-client',
  'GET /api/v1/settings/agent-schema': 'acs settings schema, typescript-client',
  'GET /api/v1/settings/conversation-schema': 'acs settings schema, typescript-client',
  'GET /api/v1/settings/profiles': 'acs settings profile list, typescript-client',
  'GET /api/v1/settings/profiles/{name}': 'typescript-client',
  'POST /api/v1/settings/profiles/{name}': 'acs settings profile save, typescript-client',
  'DELETE /api/v1/settings/profiles/{name}': 'acs settings profile delete, typescript-client',
  'POST /api/v1/settings/profiles/{name}/activate': 'acs settings profile use, typescript-client',
  'POST /api/v1/settings/profiles/{name}/rename': 'typescript-client',
  'GET /api/v1/users/me': 'acs whoami, cloud workspace, openhands CLI',
  'GET /api/v1/secrets/search': 'acs secret list, typescript-client',
  'POST /api/v1/secrets': 'acs secret set, typescript-client',
  'PUT /api/v1/secrets/{secret_id}': 'typescript-client',
  'DELETE /api/v1/secrets/{secret_id}': 'acs secret delete, typescript-client',
  'POST /api/v1/secrets/git-providers':
    'acs git-provider set, acs git-provider delete, acs settings set',
  'DELETE /api/v1/secrets/git-providers': 'acs git-provider delete, acs settings unset',
  'GET /api/v1/git/installations/search': 'typescript-client',
  'GET /api/v1/git/repositories/search': 'acs repo list, typescript-client',
  'GET /api/v1/git/branches/search': 'acs repo branches, typescript-client',
  'GET /api/v1/git/suggested-tasks/search': 'acs git-provider list, typescript-client',
  'GET /api/v1/config/models/search': 'typescript-client',
  'GET /api/v1/config/providers/search': 'typescript-client',
} as const;

/**
 * Routes of the agent server of a sandbox. `local app server`: the app server of the service sends
 * it for a client.
 */
export const AGENT_ROUTES = {
  'GET /openapi.json': 'acs (probe)',
  'POST /local/conversations/{conversation_id}/user_command': 'local app server',
  'GET /alive': 'typescript-client',
  'GET /health': 'sdk, cloud workspace, typescript-client',
  'GET /ready': 'typescript-client',
  'GET /server_info': 'sdk, typescript-client',
  'GET /api/tools/': 'typescript-client',
  'GET /api/vscode/url': 'typescript-client',
  'POST /api/skills': 'sdk, cloud workspace, typescript-client',
  'GET /api/settings': 'sdk, typescript-client',
  'PATCH /api/settings': 'typescript-client',
  'GET /api/settings/secrets': 'sdk, typescript-client',
  'PUT /api/settings/secrets': 'typescript-client',
  'GET /api/settings/secrets/{name}': 'sdk, typescript-client',
  'DELETE /api/settings/secrets/{name}': 'typescript-client',
  'GET /api/profiles/{name}': 'sdk, typescript-client',

  'POST /api/conversations': 'local app server, sdk, typescript-client',
  'GET /api/conversations': 'typescript-client',
  'GET /api/conversations/search': 'typescript-client',
  'GET /api/conversations/count': 'typescript-client',
  'GET /api/conversations/{conversation_id}': 'acs conv show, sdk, typescript-client',
  'PATCH /api/conversations/{conversation_id}': 'acs conv rename, sdk, typescript-client',
  'DELETE /api/conversations/{conversation_id}': 'local app server, sdk, typescript-client',
  'GET /api/conversations/{conversation_id}/agent_final_response': 'typescript-client',
  'POST /api/conversations/{conversation_id}/run': 'acs conv resume, sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/pause': 'acs conv stop, sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/interrupt': 'acs conv stop, sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/ask_agent': 'sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/condense': 'sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/secrets': 'sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/confirmation_policy':
    'acs conv new, sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/security_analyzer': 'sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/switch_llm': 'local app server, typescript-client',
  'POST /api/conversations/{conversation_id}/generate_title': 'sdk 1.11.5',
  'POST /api/conversations/{conversation_id}/fork': 'sdk, typescript-client',

  'GET /api/conversations/{conversation_id}/events/search':
    'acs conv follow, sdk, typescript-client',
  'GET /api/conversations/{conversation_id}/events/count': 'typescript-client',
  'GET /api/conversations/{conversation_id}/events/{event_id}': 'typescript-client',
  'POST /api/conversations/{conversation_id}/events': 'acs conv send, sdk, typescript-client',
  'POST /api/conversations/{conversation_id}/events/respond_to_confirmation':
    'acs conv confirm, sdk, typescript-client',

  'POST /api/bash/execute_bash_command': 'acs sandbox exec, local app server, typescript-client',
  'POST /api/bash/start_bash_command': 'acs conv diff, acs sandbox cp, sdk, typescript-client',
  'GET /api/bash/bash_events/search': 'acs conv diff, acs sandbox cp, sdk, typescript-client',
  'GET /api/bash/bash_events/{event_id}': 'typescript-client',
  'GET /api/git/changes': 'acs conv diff, sdk, typescript-client',
  'GET /api/git/diff': 'acs conv diff, sdk, typescript-client',
  'GET /api/git/changes/{path:path}': 'sdk 1.11.5',
  'GET /api/git/diff/{path:path}': 'sdk 1.11.5',
  'GET /api/file/download': 'local app server, acs sandbox cp, sdk, typescript-client',
  'POST /api/file/upload': 'local app server, acs sandbox cp, sdk, typescript-client',
  'GET /api/file/download/{path:path}': 'sdk 1.11.5',
  'POST /api/file/upload/{path:path}': 'sdk 1.11.5',
  'GET /api/file/home': 'typescript-client',
  'GET /api/file/archive': 'local app server',
  'GET /api/file/download-trajectory/{conversation_id}': 'typescript-client',
} as const;

export const AGENT_SOCKETS = {
  '/sockets/events/{conversation_id}': 'acs conv follow, sdk, typescript-client',
  '/sockets/bash-events': 'typescript-client',
  '/sockets/exec': 'acs sandbox exec, acs sandbox shell',
} as const;

export type AppRoute = keyof typeof APP_ROUTES;
export type AgentRoute = keyof typeof AGENT_ROUTES;

/**
 * Served without the key of the server; some require the key of a sandbox or the cookie of a
 * one-time link.
 */
export const OPEN_ROUTES: ReadonlySet<string> = new Set<AppRoute | AgentRoute>([
  'GET /openapi.json',
  'GET /conversations/{conversation_id}',
  'GET /conversations/{conversation_id}/live',
  'GET /api/v1/web-client/config',
  'GET /api/shared-conversations',
  'GET /api/shared-events/search',
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets',
  'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}',
  'GET /alive',
  'GET /health',
  'GET /ready',
  'GET /server_info',
]);
