import { describe, expect, it } from 'vitest';
import { record, useOddServer } from './sandbox/odd-server.ts';

describe('sandbox commands at a server with unusual answers', () => {
  const server = useOddServer();

  it('list a record once that is on two pages', async () => {
    server.answer(({ path: route, query }) => {
      if (route !== '/api/v1/sandboxes/search') return null;
      return query.get('page_id') === '2'
        ? { json: { items: [record('sandbox-b'), record('sandbox-c')], next_page_id: null } }
        : { json: { items: [record('sandbox-a'), record('sandbox-b')], next_page_id: '2' } };
    });
    expect(await server.acs('list', '-q')).toMatchObject({ code: 0, out: 'sandbox-a\nsandbox-b\nsandbox-c\n' });
  });

  it('exit 9 when a page names itself as the next', async () => {
    server.answer(({ path: route, query }) =>
      route === '/api/v1/sandboxes/search'
        ? { json: { items: [record(`sandbox-${query.get('page_id') ?? '0'}`)], next_page_id: '1' } }
        : null,
    );
    const { code, out, err } = await server.acs('list', '--all-pages', '--json');
    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'server' } });
    expect(server.fake.lines().filter((line) => line.endsWith('/search')).length).toBeLessThan(10);
  });

  it('request no page beyond the limit', async () => {
    server.answer(({ path: route }) =>
      route === '/api/v1/sandboxes/search'
        ? { json: { items: [record('sandbox-a'), record('sandbox-b'), record('sandbox-c')], next_page_id: '3' } }
        : null,
    );
    const { out } = await server.acs('list', '-L', '2', '--json');
    expect(JSON.parse(out)).toMatchObject({ items: [{ id: 'sandbox-a' }, { id: 'sandbox-b' }], has_more: true });
    const asked = server.fake.asked.filter(({ path: route }) => route === '/api/v1/sandboxes/search');
    expect(asked.map(({ query }) => query.get('limit'))).toEqual(['3']);
  });
});
