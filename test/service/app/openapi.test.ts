import { describe, expect, it } from 'vitest';
import { appOfSuite } from './support.ts';

const app = appOfSuite();

describe('/openapi.json', () => {
  it('lists the served routes and the members of both create bodies', async () => {
    const { body } = await app.call('GET', '/openapi.json');
    const document = body as {
      paths: Record<string, Record<string, unknown>>;
      components: { schemas: Record<string, { properties: Record<string, unknown> }> };
    };
    expect(Object.keys(document.paths['/api/v1/app-conversations'] ?? {}).sort()).toEqual(['get', 'post']);
    expect(document.paths['/api/conversations/{conversation_id}/git/changes']).toBeDefined();
    const { AppConversationStartRequest: v1, InitSessionRequest: v0 } = document.components.schemas;
    expect(Object.keys(v1?.properties ?? {})).toEqual(expect.arrayContaining(['conversation_id', 'replay_json']));
    expect(Object.keys(v0?.properties ?? {})).toEqual(expect.arrayContaining(['conversation_id', 'replay_json']));
  });
});
