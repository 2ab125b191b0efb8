import { describe, expect, it } from 'vitest';
import { appOfEachTest } from '../../support.ts';

const app = appOfEachTest();
const { get, post } = app;
const V0 = '/api/settings';
const V1 = '/api/v1/settings';

describe('secrets', () => {
  it('are shared by both dialects, and their values are in no answer', async () => {
    expect(await post('/api/secrets', { name: 'TOKEN_A', value: 'hush', description: 'first' })).toMatchObject({
      status: 201,
    });
    expect(await post('/api/secrets', { name: 'TOKEN_A', value: 'x' })).toMatchObject({
      status: 400,
      body: { message: 'Secret TOKEN_A already exists' },
    });
    expect(await post('/api/v1/secrets', { name: 'TOKEN_B', value: 'hush' })).toMatchObject({ status: 201 });
    expect(await post('/api/v1/secrets', { name: 'a b', value: 'hush' })).toMatchObject({ status: 422 });
    expect(await get('/api/v1/secrets/search?limit=1')).toEqual({
      items: [{ name: 'TOKEN_A', description: 'first' }],
      next_page_id: 'TOKEN_A',
    });
    expect(await get('/api/v1/secrets/search?limit=1&page_id=TOKEN_A')).toEqual({
      items: [{ name: 'TOKEN_B', description: '' }],
      next_page_id: null,
    });
    expect((await app.call('PUT', '/api/v1/secrets/TOKEN_A', { name: 'TOKEN_B' })).status).toBe(400);
    expect((await app.call('PUT', '/api/v1/secrets/TOKEN_A', { name: 'TOKEN_C', description: 'new' })).status).toBe(
      200,
    );
    expect(await get('/api/secrets')).toEqual({
      custom_secrets: [
        { name: 'TOKEN_B', description: '' },
        { name: 'TOKEN_C', description: 'new' },
      ],
    });
    expect((await app.call('DELETE', '/api/secrets/TOKEN_C')).status).toBe(200);
    expect(await app.call('DELETE', '/api/v1/secrets/TOKEN_C')).toMatchObject({ status: 404 });
  });

  it('contain tokens of git providers by their host only', async () => {
    expect((await post('/api/v1/secrets/git-providers', { provider_tokens: { nope: { token: 'x' } } })).status).toBe(
      422,
    );
    await post('/api/add-git-providers', { provider_tokens: { forgejo: { token: 'hush', host: 'git.example.org' } } });
    await post(V0, {});
    expect(await get(V1)).toMatchObject({ provider_tokens_set: { forgejo: 'git.example.org' } });
    await post('/api/unset-provider-tokens', undefined);
    expect(await get(V0)).toMatchObject({ provider_tokens_set: {} });
    expect(await app.call('GET', '/api/user/repositories')).toMatchObject({ status: 401 });
    expect(await app.call('GET', '/api/v1/git/suggested-tasks/search')).toMatchObject({ status: 403 });
  });

  it('refuse a null character, at which the database would end a value', async () => {
    for (const [path, type] of [
      ['/api/secrets', 'value'],
      ['/api/v1/secrets', 'value'],
      ['/api/secrets', 'name'],
      ['/api/v1/secrets', 'description'],
    ] as const) {
      const secret = { name: 'TOKEN', value: 'v', description: 'd', [type]: 'first\0second' };
      expect([path, await post(path, secret)]).toMatchObject([
        path,
        { status: 422, body: { detail: [{ loc: ['body', type] }] } },
      ]);
    }
    expect(await get('/api/secrets')).toEqual({ custom_secrets: [] });
  });
});
