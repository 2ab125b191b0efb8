/** The document of `/openapi.json`: every route that is served, and the members that starting a conversation takes. */
import { appConversationPatch, appConversationStart } from '../../protocol/v1/requests.ts';
import { conversationCreate } from '../../protocol/v0/requests.ts';
import type { Route } from './route.ts';

/** Reads the names from the schemas that check the requests, so that the document cannot lag behind them. */
export function openapiDocument(routes: Route[], version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method } of routes) {
    const shown = path.replace(':path}', '}');
    const operations = (paths[shown] ??= {});
    operations[method.toLowerCase()] = operation(shown, method);
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
};

const BODIES: Record<string, string> = {
  'POST /api/v1/app-conversations': 'AppConversationStartRequest',
  'POST /api/v1/app-conversations/stream-start': 'AppConversationStartRequest',
  'PATCH /api/v1/app-conversations/{conversation_id}': 'AppConversationUpdateRequest',
  'POST /api/conversations': 'InitSessionRequest',
};

function operation(path: string, method: string): unknown {
  const schema = BODIES[`${method} ${path}`];
  const responses = { '200': { description: 'Successful Response' } };
  if (schema === undefined) return { responses };
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
  return { requestBody: { required: true, content }, responses };
}

function membersOf(entries: Record<string, unknown>, additionalProperties?: boolean): unknown {
  const properties = Object.fromEntries(Object.keys(entries).map((name) => [name, { title: name }]));
  return { type: 'object', properties, ...(additionalProperties === undefined ? {} : { additionalProperties }) };
}
