import { describe, expect, it } from 'vitest';
import { appWithEachDialect } from '../../support.ts';

const { app, ids } = appWithEachDialect();
const { get } = app;

describe('V0 of a service that serves both dialects', () => {
  it('returns a V1 conversation, but neither its events nor its sandbox', async () => {
    const at = `/api/conversations/${ids.v1}`;
    expect(await get(at)).toMatchObject({ conversation_id: ids.v1, conversation_version: 'V1', status: 'RUNNING' });
    for (const route of ['events', 'git/changes']) {
      expect(await app.call('GET', `${at}/${route}`)).toMatchObject({
        status: 404,
        body: { detail: `Conversation ${ids.v1} not found` },
      });
    }
    expect((await app.call('POST', `${at}/message`, { message: 'hi' })).status).toBe(404);
    expect((await app.call('POST', `${at}/start`, {})).status).toBe(404);
    expect((await app.call('POST', `${at}/stop`)).body).toMatchObject({ message: 'Conversation was not running' });
  });
});
