/**
 * The OpenAPI documents that the servers of the local service send: content by name of the server.
 */
import { agentDocument, appDocument } from '../../src/service/openapi/documents.ts';

/** What JSON Schema assumes anyway is left out. */
function shorter(key: string, value: unknown): unknown {
  const isImplied =
    key === 'propertyNames' || (key === 'required' && Array.isArray(value) && value.length === 0);
  return isImplied ? undefined : value;
}

export function openapiDocuments(version: string): Record<string, string> {
  return {
    'app-server': JSON.stringify(appDocument(version), shorter),
    'agent-server': JSON.stringify(agentDocument(), shorter),
  };
}
