import { describe, expect, it } from 'vitest';
import { gitHostOfSuite, HELLO } from '../../git-host.ts';
import { appOfSuite } from '../../support.ts';

const app = appOfSuite();
const host = gitHostOfSuite(app);

describe('the git provider of V0 without a token', () => {
  it.each([
    ['repositories', 'Git provider token required. (such as GitHub).'],
    ['search/repositories?query=a', 'Git provider token required.'],
    ['search/branches?repository=a/b&query=c', 'Git provider token required.'],
    ['repository/branches?repository=a/b', 'Git provider token required. (such as GitHub).'],
    ['suggested-tasks', 'No providers set.'],
  ])('refuses %s as a text', async (path, text) => {
    expect(await app.call('GET', `/api/user/${path}`)).toMatchObject({ status: 401, body: text });
  });

  it('has a configuration that needs no login', async () => {
    expect((await app.call('GET', '/api/options/config')).body).toMatchObject({
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: '',
    });
  });
});

describe('a Forgejo host that is named with its token', () => {
  it('lists the repositories of the user over V0', async () => {
    await host.store('v0');
    const get = async (at: string): Promise<unknown> => (await app.call('GET', `/api/user/${at}`)).body;
    expect(await get('repositories')).toMatchObject([HELLO]);
    expect(await get('search/repositories?query=hello')).toMatchObject([HELLO]);
    expect(await get('repository/branches?repository=demo/hello')).toMatchObject({
      branches: [{ name: 'main' }, { name: 'matrix' }, { name: 'next' }],
      has_next_page: false,
    });
  });

  it('returns pages, and searches of the requested length', async () => {
    await host.store('v0');
    const get = async (at: string): Promise<unknown> => (await app.call('GET', `/api/user/${at}`)).body;
    const of = 'repository=demo/hello&selected_provider=forgejo';
    expect(await get(`repository/branches?${of}&per_page=2`)).toMatchObject({
      branches: [{ name: 'main' }, { name: 'matrix' }],
      has_next_page: true,
      current_page: 1,
    });
    expect(await get(`repository/branches?${of}&per_page=2&page=2`)).toMatchObject({
      branches: [{ name: 'next' }],
      has_next_page: false,
    });
    expect(await get(`search/branches?${of}&query=m&per_page=1`)).toMatchObject([{ name: 'main' }]);
    expect(await get('repositories?selected_provider=forgejo&page=2&per_page=1')).toEqual([]);
    expect(await get('search/repositories?query=hello&per_page=1')).toMatchObject([HELLO]);
  });

  it('is the only one that is searched: others are 501, and suggest no task', async () => {
    await app.post('/api/add-git-providers', { provider_tokens: { github: { token: 'g' } } });
    const get = (at: string) => app.call('GET', `/api/user/${at}`);
    expect(await get('repositories?selected_provider=github&page=1&per_page=1')).toMatchObject({ status: 501 });
    expect(await get('search/repositories?query=a')).toMatchObject({ status: 501 });
    expect(await get('suggested-tasks')).toMatchObject({ status: 200, body: [] });
  });
});
