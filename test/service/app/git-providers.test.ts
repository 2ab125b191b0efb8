import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { GIT_TOKEN, startGitHost, type GitHost } from '../../genuine/git-host.ts';
import { startRaw, untilTestEnds } from '../../support/server.ts';
import { readProviders } from '../../../src/service/settings/git-providers.ts';
import { appOfEachTest, expectAnswers, startedTask, type Answer } from './support.ts';

const app = appOfEachTest();
const tokens = (given: Record<string, object>) => ({ provider_tokens: given });
const [STORE_V0, STORE_V1] = ['POST /api/add-git-providers', 'POST /api/v1/secrets/git-providers'];
const REPOSITORIES = '/api/v1/git/repositories/search?provider=forgejo';

describe('tokens of git providers', () => {
  const stored = () => readProviders(app.store.documents);

  it('replace those of before: one that is left out is dropped, an empty one keeps its token and host', async () => {
    const first = {
      github: { token: 'g', host: 'git.example.org' },
      gitlab: { token: 'l' },
    };
    await expectAnswers(app, [[STORE_V0, tokens({ ...first, bitbucket: { token: '' } }), 200]]);
    expect(stored()).toEqual({ ...first, gitlab: { token: 'l', host: null } });
    for (const github of [{ token: '' }, { token: '', host: null }]) {
      await expectAnswers(app, [[STORE_V1, tokens({ github }), 200]]);
      expect(stored()).toEqual({ github: { token: 'g', host: 'git.example.org' } });
    }
  });

  it('are shown in both settings by their host only', async () => {
    const shown = { provider_tokens_set: { github: null, forgejo: 'git.example.org' } };
    const both = { github: { token: 'hush' }, forgejo: { token: 'hush', host: 'git.example.org' } };
    await expectAnswers(app, [
      ['POST /api/settings', {}, 200],
      [STORE_V0, tokens(both), 200],
      ['/api/settings', undefined, 200, shown],
      ['/api/v1/settings', undefined, 200, shown],
      ['POST /api/unset-provider-tokens', undefined, 200],
      ['/api/settings', undefined, 200, { provider_tokens_set: {} }],
    ]);
  });

  it('of an unknown provider are refused at their place, and nothing is stored', async () => {
    const given = tokens({ github: { token: 'g' }, nope: { token: 'x' } });
    const detail = [
      { type: 'enum', loc: ['body', 'provider_tokens', 'nope', '[key]'], input: 'nope' },
    ];
    await expectAnswers(app, [[STORE_V1, given, 422, { detail }]]);
    expect(stored()).toEqual({});
  });
});

it('without a token a look-up is refused, over V0 with a bare text', async () => {
  const [bare, text] = [
    'Git provider token required.',
    'Git provider token required. (such as GitHub).',
  ];
  const detail = 'Git provider token required (such as GitHub).';
  await expectAnswers(app, [
    ['/api/user/repositories', undefined, 401, text],
    ['/api/user/search/repositories?query=a', undefined, 401, bare],
    ['/api/user/search/branches?repository=a/b&query=c', undefined, 401, bare],
    ['/api/user/repository/branches?repository=a/b', undefined, 401, text],
    ['/api/user/suggested-tasks', undefined, 401, 'No providers set.'],
    [REPOSITORIES, undefined, 403, { detail }],
    ['/api/v1/git/suggested-tasks/search', undefined, 403, { detail }],
  ]);
});

it('only Forgejo hosts are searched: others are 501, and suggest no task', async () => {
  const elsewhere = expect.stringContaining('Forgejo hosts only') as string;
  await expectAnswers(app, [
    [STORE_V0, tokens({ github: { token: 'g' } }), 200],
    [
      '/api/user/repositories?selected_provider=github&page=1&per_page=1',
      undefined,
      501,
      elsewhere,
    ],
    ['/api/user/search/repositories?query=a', undefined, 501],
    ['/api/user/suggested-tasks', undefined, 200, []],
    [REPOSITORIES, undefined, 501, { detail: elsewhere }],
    ['/api/v1/git/installations/search?provider=github', undefined, 501, { detail: elsewhere }],
    ['/api/v1/git/suggested-tasks/search', undefined, 200, { items: [] }],
  ]);
});

describe('a Forgejo host that is named with its token', () => {
  let host: GitHost;
  beforeEach(async () => {
    host = await startGitHost(path.join(app.dir, 'git-host'));
    return () => host.close();
  });
  const at = (token = GIT_TOKEN, address = host.url) =>
    tokens({ forgejo: { token, host: address } });
  const [MAIN, MATRIX, NEXT] = ['main', 'matrix', 'next'].map((name) => ({ name }));

  it('checks the token, and a wrong one is not stored', async () => {
    const refusal = 'Invalid token. Please make sure it is a valid forgejo token.';
    await expectAnswers(app, [
      [STORE_V1, at('wrong'), 401, { detail: refusal }],
      [STORE_V0, at('wrong'), 401, { error: refusal }],
      [REPOSITORIES, undefined, 403],
      [STORE_V1, at(), 200],
    ]);
  });

  it('lists repositories and branches in pages, over both dialects', async () => {
    const hello = {
      id: '1',
      full_name: 'demo/hello',
      git_provider: 'forgejo',
      is_public: true,
      main_branch: 'main',
    };
    const branchesV0 =
      '/api/user/repository/branches?repository=demo/hello&selected_provider=forgejo';
    const branchesV1 = '/api/v1/git/branches/search?provider=forgejo&repository=demo/hello&query=';
    await expectAnswers(app, [
      [STORE_V0, at(), 200],
      ['/api/user/repositories', undefined, 200, [hello]],
      ['/api/user/repositories?selected_provider=forgejo&page=2&per_page=1', undefined, 200, []],
      ['/api/user/search/repositories?query=hello&per_page=1', undefined, 200, [hello]],
      [branchesV0, undefined, 200, { branches: [MAIN, MATRIX, NEXT], has_next_page: false }],
      [
        `${branchesV0}&per_page=2`,
        undefined,
        200,
        { branches: [MAIN, MATRIX], has_next_page: true, current_page: 1 },
      ],
      [
        `${branchesV0}&per_page=2&page=2`,
        undefined,
        200,
        { branches: [NEXT], has_next_page: false },
      ],
      [
        '/api/user/search/branches?repository=demo/hello&query=m&per_page=1',
        undefined,
        200,
        [MAIN],
      ],
      [REPOSITORIES, undefined, 200, { items: [hello], next_page_id: null }],
      [`${REPOSITORIES}&query=hello`, undefined, 200, { items: [hello] }],
      [branchesV1, undefined, 200, { items: [MAIN, MATRIX, NEXT], next_page_id: null }],
      [`${branchesV1}nex&limit=1`, undefined, 200, { items: [NEXT], next_page_id: null }],
      [`${branchesV1}&limit=1`, undefined, 200, { items: [MAIN], next_page_id: '1' }],
      [branchesV1.replace('hello', 'nowhere'), undefined, 200, { items: [], next_page_id: null }],
      ['/api/v1/git/suggested-tasks/search', undefined, 200, { items: [], next_page_id: null }],
      ['/api/v1/git/repositories/search?provider=github', undefined, 501],
      ['/api/v1/git/installations/search?provider=forgejo', undefined, 400],
    ]);
  });

  it('is cloned from when a start over V1 names no provider, as the openhands CLI does', async () => {
    await expectAnswers(app, [[STORE_V1, at(), 200]]);
    const task = await startedTask(app, { selected_repository: 'demo/hello', replay_json: 'demo' });
    expect(task).toMatchObject({ status: 'READY' });
  });

  it('refuses an unknown repository over V0', async () => {
    const body = { repository: 'demo/none', git_provider: 'forgejo', replay_json: 'demo' };
    await expectAnswers(app, [
      [STORE_V0, at(), 200],
      ['POST /api/conversations', body, 401, 'Unable to access repo demo/none'],
    ]);
  });

  it('is answered with 502 when it does not answer', async () => {
    await expectAnswers(app, [[STORE_V1, at(), 200]]);
    await host.close();
    const detail = expect.stringContaining('The git provider cannot be read') as string;
    await expectAnswers(app, [[REPOSITORIES, undefined, 502, { detail }]]);
  });

  it('is answered with 502 without its token when that cannot be sent', async () => {
    const detail = expect.not.stringContaining('hush') as string;
    await expectAnswers(app, [
      [STORE_V1, at('hush\nhush'), 200],
      [REPOSITORIES, undefined, 502, { detail }],
    ]);
  });
});

describe('a token for a host that cannot check it', () => {
  const answer = (status: number): string => `HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\n{}`;

  it.each([
    ['answers 401', answer(401), 401, 403],
    ['answers 403', answer(403), 401, 403],
    ['answers 500', answer(500), 200, 502],
    [
      'sends an answer that breaks off',
      'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[{"id"',
      200,
      502,
    ],
    [
      'sends another protocol',
      'HTTP/1.1 101 X\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n',
      200,
      502,
    ],
    ['sends no HTTP', 'hello\r\n\r\n', 200, 502],
    [
      'redirects',
      'HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n',
      200,
      502,
    ],
  ])(
    'that %s is stored unless it is refused, and a search fails',
    async (_, text, stored, searched) => {
      const { url } = await untilTestEnds(startRaw(text));
      const given = tokens({ forgejo: { token: 'f', host: url } });
      await expectAnswers(app, [
        [STORE_V1, given, stored],
        [REPOSITORIES, undefined, searched],
      ]);
    },
  );

  it('with an address that is not valid, or without one, is stored', async () => {
    const checked = async (host?: string): Promise<Answer> =>
      app.post('/api/v1/secrets/git-providers', tokens({ forgejo: { token: 'f', host } }));
    expect((await checked('http://a host')).status).toBe(200);
    await expectAnswers(app, [['/api/v1/git/suggested-tasks/search', undefined, 502]]);
    expect((await checked()).status).toBe(200);
  });
});
