import { describe, expect, it } from 'vitest';
import { branchRecord, repositoryRecord, useGitServer } from '../client/support/git-server.ts';
import { NOT_FOUND } from '../support/server.ts';

const numbered = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_none, index) => `${prefix}${index}`);
const token = { token: 'a', host: null };

describe.each(['v1', 'v0'] as const)('repo over %s', (dialect) => {
  const at = useGitServer(dialect, 'repo');
  const names = async (line: string): Promise<string[]> =>
    (await at.ends(`${line} -q`, {})).out.split('\n').slice(0, -1);

  it('list has the same fields over both dialects', async () => {
    const old = { is_public: false, stargazers_count: null, pushed_at: null, main_branch: null };
    at.data.repositories = [
      repositoryRecord('acme/app'),
      { ...repositoryRecord('acme/old'), ...old },
    ];
    const app = {
      public: true,
      default_branch: 'main',
      stars: 3,
      pushed_at: '2026-01-02T03:04:05Z',
    };
    expect(await at.json('list')).toEqual({
      items: [
        { name: 'acme/app', git_provider: 'github', ...app },
        {
          name: 'acme/old',
          git_provider: 'github',
          public: false,
          default_branch: null,
          stars: null,
          pushed_at: null,
        },
      ],
      has_more: false,
    });
  });

  it('list prints 30 and a notice that there are more, and all of them with --all-pages', async () => {
    const all = numbered(250, 'acme/app-');
    at.data.repositories = all.map((name) => repositoryRecord(name));
    await at.ends('list --json', {
      out: { has_more: true, items: { length: 30 } },
      err: 'more results are available',
    });
    expect((await names('list --all-pages')).sort()).toEqual([...all].sort());
    expect(await names('list -L 120')).toHaveLength(120);
  });

  it('list goes through all providers, or through one', async () => {
    at.data.tokens = { github: token, forgejo: { token: 'b', host: 'git.example.com' } };
    at.data.providerPage = 50;
    const [here, there] = [numbered(3, 'acme/app-'), numbered(120, 'acme/app-')];
    at.data.repositories = [
      ...here.map((name) => repositoryRecord(name)),
      ...there.map((name) => repositoryRecord(name, 'forgejo')),
    ];
    expect(await names('list --all-pages')).toHaveLength(123);
    expect(await names('list --git-provider github')).toEqual(here);
    expect(await names('list --git-provider forgejo --all-pages')).toHaveLength(120);
  });

  it('list --search has one page, and a notice when the server has more', async () => {
    at.data.repositories = [...numbered(150, 'acme/app-'), 'acme/site'].map((name) =>
      repositoryRecord(name),
    );
    expect(await names('list --search site')).toEqual(['acme/site']);
    await at.ends('list --search app --all-pages --json', {
      out: { has_more: true },
      err: 'a longer --search',
    });
  });

  it('exits 4 with the next step where the server has no token', async () => {
    at.data.tokens = {};
    for (const line of ['list', 'branches acme/app', 'branches acme/app --git-provider gitlab'])
      await at.ends(line, { code: 4, err: 'acs git-provider set' });
    at.data.tokens = { github: token };
    await at.ends('list --git-provider gitlab', { code: 4, err: 'acs git-provider set gitlab' });
  });

  it('an error of one of several providers names it, and the others', async () => {
    at.data.tokens = { github: token, gitlab: token };
    at.script(({ query }) =>
      (query.get('provider') ?? query.get('selected_provider')) === 'gitlab'
        ? { status: 401, json: 'Invalid gitlab token' }
        : null,
    );
    await at.ends('list', { code: 4, err: ['gitlab: ', '--git-provider github'] });
  });

  it('branches lists all branches of a repository, searches, and derives the provider from a URL', async () => {
    at.data.branches = {
      'acme/app': ['main', ...numbered(120, 'feature-')].map((name) => branchRecord(name)),
    };
    expect(await at.json('branches acme/app -L 1')).toEqual({
      items: [
        {
          name: 'main',
          commit: '7676835c464912145db64e1480a4de2f03f30bc6',
          protected: false,
          pushed_at: null,
        },
      ],
      has_more: true,
    });
    expect(await names('branches https://github.com/acme/app.git --all-pages')).toHaveLength(121);
    expect(await names('branches acme/app --search main')).toEqual(['main']);
    // 0.53 has no search of branches.
    at.script({ '/api/user/search/branches': NOT_FOUND });
    expect(await names('branches acme/app --search main')).toEqual(['main']);
  });

  at.rows({
    'branches of a repository without any has a notice that it may not exist': {
      acs: 'branches acme/nowhere',
      err: 'github lists no branch of acme/nowhere',
    },
    'an answer of another shape is exit 9': {
      acs: 'list',
      server: {
        '/api/v1/git/repositories/search': { json: { items: [{ id: 1 }] } },
        '/api/user/repositories': { json: { items: [{ id: 1 }] } },
      },
      code: 9,
    },
  });

  it.each(['./app', '', 'acme/../app', 'app'])(
    'branches exits 2 for %j, and names no flag it lacks',
    async (given) => {
      const err = 'error: the argument is neither owner/name nor the URL of a repository';
      await at.ends(['branches', given], { code: 2, err, hides: '--repo' });
    },
  );

  it('branches exits 6 where the server does not report its providers', async () => {
    at.data.hasSettings = false;
    await at.ends('branches acme/app', { code: 6, err: 'acs settings set language=en' });
  });

  it('branches exits 2 where the provider has to be chosen', async () => {
    at.data.tokens = { github: token, gitlab: token };
    await at.ends('branches acme/app', { code: 2, err: '--git-provider' });
  });

  it('exits 12 where the server lists no repositories', async () => {
    const paths = { '/api/conversations': {}, '/api/v1/app-conversations': {} };
    at.script({ '/openapi.json': { json: { info: {}, paths } } });
    const env = { ACS_CONFIG_DIR: `${at.dir}/without-route` };
    for (const line of ['list', 'branches acme/app --git-provider github'])
      await at.ends(line, { code: 12, env });
  });
});
