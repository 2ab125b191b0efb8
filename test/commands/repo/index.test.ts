import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchRecord, repositoryRecord, startGitServer, type GitServer } from '../../servers/support/git-server.ts';

const numbered = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_none, index) => `${prefix}${index}`);

describe.each(['v1', 'v0'] as const)('repo over %s', (dialect) => {
  let at: GitServer;
  beforeEach(async () => {
    at = await startGitServer(dialect);
  });
  afterEach(() => at.close());
  const names = async (...args: string[]): Promise<string[]> =>
    (await at.acs('repo', ...args, '-q')).out.split('\n').slice(0, -1);

  it('list has the same fields over both dialects', async () => {
    at.data.repositories = [
      repositoryRecord('acme/app'),
      { ...repositoryRecord('acme/old'), is_public: false, stargazers_count: null, pushed_at: null, main_branch: null },
    ];
    const { code, out } = await at.acs('repo', 'list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      items: [
        {
          name: 'acme/app',
          git_provider: 'github',
          public: true,
          default_branch: 'main',
          stars: 3,
          pushed_at: '2026-01-02T03:04:05Z',
        },
        { name: 'acme/old', git_provider: 'github', public: false, default_branch: null, stars: null, pushed_at: null },
      ],
      has_more: false,
    });
  });

  it('list prints 30 and a notice that there are more, and all of them with --all-pages', async () => {
    const all = numbered(250, 'acme/app-');
    at.data.repositories = all.map((name) => repositoryRecord(name));
    const first = await at.acs('repo', 'list', '--json');
    expect(JSON.parse(first.out)).toMatchObject({ has_more: true, items: { length: 30 } });
    expect(first.err).toContain('more results are available');
    expect((await names('list', '--all-pages')).sort()).toEqual([...all].sort());
    expect(await names('list', '-L', '120')).toHaveLength(120);
  });

  it('list goes through all providers, or through one', async () => {
    at.data.tokens = { github: { token: 'a', host: null }, forgejo: { token: 'b', host: 'git.example.com' } };
    at.data.providerPage = 50;
    const [here, there] = [numbered(3, 'acme/app-'), numbered(120, 'acme/app-')];
    at.data.repositories = [
      ...here.map((name) => repositoryRecord(name)),
      ...there.map((name) => repositoryRecord(name, 'forgejo')),
    ];
    expect(await names('list', '--all-pages')).toHaveLength(123);
    expect(await names('list', '--git-provider', 'github')).toEqual(here);
    expect(await names('list', '--git-provider', 'forgejo', '--all-pages')).toHaveLength(120);
  });

  it('list --search has one page, and a notice when the server has more', async () => {
    at.data.repositories = [...numbered(150, 'acme/app-'), 'acme/site'].map((name) => repositoryRecord(name));
    expect(await names('list', '--search', 'site')).toEqual(['acme/site']);
    const cut = await at.acs('repo', 'list', '--search', 'app', '--all-pages', '--json');
    expect(JSON.parse(cut.out)).toMatchObject({ has_more: true });
    expect(cut.err).toContain('a longer --search');
  });

  it('exits 4 with the next step where the server has no token', async () => {
    at.data.tokens = {};
    for (const args of [['list'], ['tasks'], ['branches', 'acme/app', '--git-provider', 'gitlab']]) {
      const { code, err } = await at.acs('repo', ...args);
      expect(code, args.join(' ')).toBe(4);
      expect(err).toContain('acs git-provider set');
    }
    at.data.tokens = { github: { token: 'a', host: null } };
    expect((await at.acs('repo', 'list', '--git-provider', 'gitlab')).err).toContain('acs git-provider set gitlab');
  });

  it('an error of one of several providers names it, and the others', async () => {
    at.data.tokens = { github: { token: 'a', host: null }, gitlab: { token: 'b', host: null } };
    at.odd = ({ query }) =>
      (query.get('provider') ?? query.get('selected_provider')) === 'gitlab'
        ? { status: 401, json: 'Invalid gitlab token' }
        : null;
    const { code, err } = await at.acs('repo', 'list');
    expect(code).toBe(4);
    expect(err).toContain('gitlab: ');
    expect(err).toContain('--git-provider github');
  });

  it('branches lists all branches of a repository, searches, and derives the provider from a URL', async () => {
    const all = numbered(120, 'feature-');
    at.data.branches = { 'acme/app': ['main', ...all].map((name) => branchRecord(name)) };
    const { out } = await at.acs('repo', 'branches', 'acme/app', '-L', '1', '--json');
    expect(JSON.parse(out)).toEqual({
      items: [{ name: 'main', commit: '7676835c464912145db64e1480a4de2f03f30bc6', protected: false, pushed_at: null }],
      has_more: true,
    });
    expect(await names('branches', 'https://github.com/acme/app.git', '--all-pages')).toHaveLength(121);
    expect(await names('branches', 'acme/app', '--search', 'main')).toEqual(['main']);
  });

  it('an empty list of branches comes with a notice that the repository may not exist', async () => {
    const { code, err } = await at.acs('repo', 'branches', 'acme/nowhere');
    expect(code).toBe(0);
    expect(err).toContain('github lists no branch of acme/nowhere');
  });

  it('branches exits 2 for what is no repository, and names no flag that it does not have', async () => {
    for (const given of ['./app', '', 'acme/../app', 'app']) {
      const { code, err } = await at.acs('repo', 'branches', given);
      expect(code, given).toBe(2);
      expect(err).toContain('error: the argument is neither owner/name nor the URL of a repository');
      expect(err).not.toContain('--repo');
    }
  });

  it('branches exits as list does where the server reports no provider', async () => {
    at.data.tokens = {};
    const none = await at.acs('repo', 'branches', 'acme/app');
    expect(none.code).toBe(4);
    expect(none.err).toContain('acs git-provider set');
    at.data.tokens = { github: { token: 'a', host: null } };
    at.data.hasSettings = false;
    const unreported = await at.acs('repo', 'branches', 'acme/app');
    expect(unreported.code).toBe(6);
    expect(unreported.err).toContain('acs settings set language=en');
  });

  it('branches exits 2 where the provider has to be chosen', async () => {
    at.data.tokens = { github: { token: 'a', host: null }, gitlab: { token: 'b', host: null } };
    const { code, err } = await at.acs('repo', 'branches', 'acme/app');
    expect(code).toBe(2);
    expect(err).toContain('--git-provider');
  });

  it('tasks lists what the server suggests, of one repository or one provider', async () => {
    const task = {
      git_provider: 'github',
      task_type: 'OPEN_ISSUE',
      repo: 'acme/app',
      issue_number: 7,
      title: 'It fails',
    };
    at.data.tasks = [task, { ...task, repo: 'acme/site', issue_number: 8 }, { ...task, git_provider: 'gitlab' }];
    const { out } = await at.acs('repo', 'tasks', '--json');
    const { items } = JSON.parse(out) as { items: unknown[] };
    expect(items).toHaveLength(3);
    expect(items[0]).toEqual({
      id: 'acme/app#7',
      git_provider: 'github',
      task_type: 'OPEN_ISSUE',
      repository: 'acme/app',
      number: 7,
      title: 'It fails',
    });
    expect(await names('tasks', '--repo', 'Acme/Site')).toEqual(['acme/site#8']);
    expect(await names('tasks', '--git-provider', 'gitlab')).toEqual(['acme/app#7']);
  });

  it('an answer of another shape is exit 9', async () => {
    at.odd = ({ path }) => (/repositories/.test(path) ? { json: { items: [{ id: 1 }] } } : null);
    expect((await at.acs('repo', 'list')).code).toBe(9);
  });

  it('exits 12 where the server lists no repositories', async () => {
    at.odd = ({ path }) =>
      path === '/openapi.json'
        ? { json: { info: {}, paths: { '/api/conversations': {}, '/api/v1/app-conversations': {} } } }
        : null;
    for (const args of [['list'], ['tasks'], ['branches', 'acme/app', '--git-provider', 'github']])
      expect((await at.acs('repo', ...args)).code, args[0]).toBe(12);
  });
});
