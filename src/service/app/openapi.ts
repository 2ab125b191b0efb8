/** The document of `/openapi.json`: every route that is served, and the members that starting a conversation takes. */
import { appConversationPatch, appConversationStart } from '../../protocol/v1/requests.ts';
import { conversationCreate } from '../../protocol/v0/requests.ts';

/**
 * The names of members are read from the schemas that check the requests.
 * @param routes `METHOD /path`, as in served-routes.ts
 */
export function openapiDocument(routes: readonly string[], version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ');
    (paths[path] ??= {})[method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'acs local service',
      description: 'Serves the interface of OpenHands servers locally',
      version,
      'x-features': STATED_FEATURES,
    },
    paths,
    components: {
      schemas: {
        AppConversationStartRequest: membersOf(appConversationStart.entries),
        AppConversationUpdateRequest: membersOf(appConversationPatch.entries),
        InitSessionRequest: membersOf(conversationCreate.entries, false),
      },
    },
  };
}

/** What no route shows, under the names of the client (src/servers/features.ts). */
const STATED_FEATURES = {
  'web-interface': false,
  'immediate-events': true,
  'old-v0-conversations': true,
  'v0-sandboxes': true,
  'local-paths': true,
  'demo-replay': true,
  'exec-socket': true,
};

const BODIES: Record<string, string> = {
  'POST /api/v1/app-conversations': 'AppConversationStartRequest',
  'PATCH /api/v1/app-conversations/{conversation_id}': 'AppConversationUpdateRequest',
  'POST /api/conversations': 'InitSessionRequest',
};

function operation(route: string): unknown {
  const schema = BODIES[route];
  const responses = { '200': { description: 'Successful Response' } };
  if (schema === undefined) return { responses };
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
  return { requestBody: { required: true, content }, responses };
}

function membersOf(entries: Record<string, unknown>, additionalProperties?: boolean): unknown {
  const properties = Object.fromEntries(Object.keys(entries).map((name) => [name, { title: name }]));
  return { type: 'object', properties, ...(additionalProperties === undefined ? {} : { additionalProperties }) };
}
