import { describe, expect, it } from 'vitest';
import { cursorPage, listPage, offsetPage } from '../../../src/service/http/request.ts';
import { appOfSuite } from '../app/support.ts';

const app = appOfSuite();

const { post } = app;

describe('the body of a request', () => {
  it('refuses a body that is not JSON, missing or too large, in JSON', async () => {
    const path = '/api/v1/app-conversations';
    const malformed = await app.call('POST', path, '{');
    expect(malformed).toMatchObject({ status: 422, body: { detail: [{ type: 'json_invalid' }] } });
    const missing = await app.call('POST', path);
    expect(missing).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body'] }] },
    });
    const huge = await app.call(
      'POST',
      path,
      JSON.stringify({ replay_json: 'x'.repeat(33 * 1024 * 1024) }),
    );
    expect(huge.status).toBe(413);
  });
});

describe('a body other than a JSON object', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;

  it.each([
    '/api/settings',
    '/api/v1/settings',
    '/api/conversations',
    '/api/v1/app-conversations',
    '/api/v1/secrets',
  ])('is refused by %s, a list or nested deeply', async (path) => {
    expect((await post(path, '[]')).status).toBe(422);
    expect((await post(path, '[{"language":"de"}]')).status).toBe(422);
    expect((await post(path, deep)).status).toBe(422);
  });

  it('is refused as a replay, too', async () => {
    const replay = await post('/api/v1/app-conversations', { replay_json: `[${deep}]` });
    expect(replay.status).toBe(422);
    expect(JSON.stringify(replay.body)).toContain('nested too deeply');
  });
});

describe('a page', () => {
  const list = ['a', 'b', 'c', 'd', 'e'];

  it.each([
    [{ limit: 2 }, ['a', 'b'], '2'],
    [{ limit: 2, page_id: '2' }, ['c', 'd'], '4'],
    [{ limit: 2, page_id: '4' }, ['e'], null],
    [{ limit: 5 }, list, null],
    [{ limit: 2, page_id: '9' }, [], null],
    [{ limit: 2, page_id: '-1' }, ['a', 'b'], '2'],
    [{ limit: 2, page_id: '1e1' }, ['a', 'b'], '2'],
    [{ limit: 2, page_id: '9999999999' }, ['a', 'b'], '2'],
  ])('of a list for %j is %j, and the next one %j', (query, items, next_page_id) => {
    expect(listPage(query, list)).toEqual({ items, next_page_id });
  });

  it('reads one more than it returns', () => {
    const asked: number[][] = [];
    offsetPage({ limit: 3, page_id: '6' }, (...given) => (asked.push(given), []));
    expect(asked).toEqual([[4, 6]]);
  });

  it.each([
    [{ limit: 2 }, ['a', 'b'], 'c'],
    [{ limit: 2, page_id: 'c' }, ['c', 'd'], 'e'],
    [{ limit: 2, page_id: 'e' }, ['e'], null],
    [{ limit: 2, page_id: 'unknown' }, ['a', 'b'], 'c'],
  ])('that begins at an item for %j is %j, and the next one %j', (query, items, next_page_id) => {
    expect(cursorPage(query, list, (item) => item)).toEqual({ items, next_page_id });
  });
});
