import { describe, expect, it } from 'vitest';
import { type Handler, sendJson, useApiWorld } from './support.ts';

const api = useApiWorld();

describe('acs api --paginate', () => {
  const PAGES: Record<string, { items: unknown[]; next: string | null }> = {
    '': { items: [{ id: 'a' }, { id: 'b' }], next: 'p 2' },
    'p 2': { items: [{ id: 'b' }, { id: 'c' }], next: 'p3' },
    p3: { items: [{ id: 'd' }], next: null },
  };
  const pages =
    (name: string): Handler =>
    ({ url }, response) => {
      const page = PAGES[new URL(url, 'http://host').searchParams.get('page_id') ?? ''];
      sendJson(response, 200, { [name]: page?.items, next_page_id: page?.next, total: 9 });
    };

  it.each(['items', 'results'])('prints all pages of %s as one document, without duplicates', async (name) => {
    const { url, seen } = await api.serve(pages(name));

    const { code, out } = await api.at(url, 'GET', '/test?limit=2', '--paginate');

    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      [name]: [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }],
      next_page_id: null,
      total: 9,
    });
    expect(seen.map(({ url: target }) => target)).toEqual([
      '/test?limit=2',
      '/test?limit=2&page_id=p+2',
      '/test?limit=2&page_id=p3',
    ]);
  });

  it('prints one item a line with --format ndjson', async () => {
    const { url } = await api.serve(pages('items'));

    const { out } = await api.at(url, 'GET', '/test', '--paginate', '--format', 'ndjson');

    expect(out).toBe('{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n{"id":"d"}\n');
  });

  it('ends with an error when a page id is repeated', async () => {
    let count = 0;
    const { url, seen } = await api.serve((_, response) => {
      count += 1;
      sendJson(response, 200, { items: [{ id: `n${count}` }], next_page_id: 'same' });
    });

    const { code, out, err } = await api.at(url, 'GET', '/test', '--paginate');

    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain('repeats the page same');
    expect(seen).toHaveLength(2);
  });

  it('exits with 2 for an answer that is not a list', async () => {
    const { url } = await api.serve((_, response) => sendJson(response, 200, { id: 1 }));

    expect(await api.at(url, 'GET', '/test', '--paginate')).toMatchObject({ code: 2, out: '' });
  });

  it('ends with the error of a page that fails', async () => {
    const { url } = await api.serve(({ url: target }, response) => {
      if (target.includes('page_id')) sendJson(response, 404, { detail: 'no such page' });
      else sendJson(response, 200, { items: [{ id: 'a' }], next_page_id: '2' });
    });

    const { code, out, err } = await api.at(url, 'GET', '/test', '--paginate');

    expect({ code, out }).toEqual({ code: 5, out: '' });
    expect(err).toContain('no such page');
  });
});
