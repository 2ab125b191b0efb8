import { describe, expect, it } from 'vitest';
import { gitHostOfSuite, HELLO } from '../../git-host.ts';
import { appOfSuite } from '../../support.ts';

const app = appOfSuite();
const host = gitHostOfSuite(app);

describe('the git provider of V0 without a token', () => {
  it.each([
    ['repositories', 'Git provider token required. (such as GitHub).'],
    ['search/repositories', 'Git provider token required.'],
    ['search/branches', 'Git provider token required. (such as GitHub).'],
    ['repository/branches', 'Git provider token required. (such as GitHub).'],
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
});
