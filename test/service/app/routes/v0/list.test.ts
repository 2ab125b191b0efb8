import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversationOfEachDialect, createTestApp, type TestApp } from '../../support.ts';

let app: TestApp;
let ids: ReturnType<typeof conversationOfEachDialect>;
beforeAll(async () => {
  app = await createTestApp();
  ids = conversationOfEachDialect(app);
});
afterAll(() => app.close());

const get = async (path: string): Promise<unknown> => (await app.call('GET', path)).body;

interface Page {
  results: { conversation_id: string; conversation_version: string }[];
  next_page_id: string | null;
}

describe('V0 of a service that serves both dialects', () => {
  it('lists the conversations of both, newest first, and says which is of which', async () => {
    const { results } = (await get('/api/conversations')) as Page;
    expect(results.map((one) => [one.conversation_id, one.conversation_version])).toEqual([
      [ids.v0, 'V0'],
      [ids.v1, 'V1'],
    ]);
  });

  it('continues where a page ended, in either dialect, and omits no conversation', async () => {
    const { results, next_page_id } = (await get('/api/conversations?limit=1')) as Page;
    expect(JSON.parse(Buffer.from(next_page_id ?? '', 'base64').toString())).toEqual({ v0: null, v1: '0' });
    const second = (await get(`/api/conversations?limit=1&page_id=${next_page_id}`)) as Page;
    expect([...results, ...second.results].map((one) => one.conversation_id)).toEqual([ids.v0, ids.v1]);
    expect(second.next_page_id).toBeNull();
  });
});
