/**
 * The OpenAPI documents that the servers of the local service send: content by name of the server.
 */
import { agentHandlers, RELEASE } from '../../src/service/agent-server/app.ts';
import type { WorkerContext } from '../../src/service/agent-server/context.ts';
import { appHandlers } from '../../src/service/app/app.ts';
import type { AppContext } from '../../src/service/app/context.ts';
import { agentDocument } from '../../src/service/openapi/agent-server.ts';
import { appDocument } from '../../src/service/openapi/app-server.ts';

/** What making the handlers uses of a context; no request is sent. */
const clock = { now: () => 0, stamp: () => '' };
const app = { store: {}, specs: {}, clock } as unknown as AppContext;
const worker = { nowMicroseconds: () => 0 } as unknown as WorkerContext;

/** What JSON Schema assumes anyway is left out. */
function shorter(key: string, value: unknown): unknown {
  const isImplied =
    key === 'propertyNames' || (key === 'required' && Array.isArray(value) && value.length === 0);
  return isImplied ? undefined : value;
}

export function openapiDocuments(version: string): Record<string, string> {
  const documents = {
    'app-server': appDocument(appHandlers(app), version),
    'agent-server': agentDocument(
      agentHandlers(worker, () => 0),
      RELEASE,
    ),
  };
  return Object.fromEntries(
    Object.entries(documents).map(([server, document]) => [
      server,
      JSON.stringify(document, shorter),
    ]),
  );
}
