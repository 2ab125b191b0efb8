import { describe, expect, it } from 'vitest';
import { appWithEachDialect } from '../../support.ts';

const { app, ids } = appWithEachDialect();
const { get } = app;

interface Page {
  results: { conversation_id: string; conversation_version: string }[];
  next_page_id: string | null;
}

describe('V0 of a service that serves both dialects', () => {
  it('lists the conversations of both, newest first, with the version of each', async () => {
    const { results } = await get<Page>('/api/conversations');
    expect(results.map((one) => [one.conversation_id, one.conversation_version])).toEqual([
      [ids.v0, 'V0'],
      [ids.v1, 'V1'],
    ]);
  });

  it('continues where a page ended, in either dialect, and omits no conversation', async () => {
    const { results, next_page_id } = await get<Page>('/api/conversations?limit=1');
    expect(JSON.parse(Buffer.from(next_page_id ?? '', 'base64').toString())).toEqual({ v0: null, v1: '0' });
    const second = await get<Page>(`/api/conversations?limit=1&page_id=${next_page_id}`);
    expect([...results, ...second.results].map((one) => one.conversation_id)).toEqual([ids.v0, ids.v1]);
    expect(second.next_page_id).toBeNull();
  });
});
