import { describe, expect, it } from 'vitest';
import {
  isBranchName,
  repositoryForm,
  repositorySource,
  RepositoryError,
  shownRepository,
} from '../../../src/service/app/repository.ts';

describe('the name of a repository', () => {
  it.each([
    ['owner/name', 'github', 'https://github.com/owner/name.git', 'name'],
    ['group/sub/name', 'gitlab', 'https://gitlab.com/group/sub/name.git', 'name'],
    ['owner/name', 'forgejo', 'https://codeberg.org/owner/name.git', 'name'],
    ['org/project/name', 'azure_devops', 'https://dev.azure.com/org/project/_git/name', 'name'],
    ['https://host.example/a/b.git', null, 'https://host.example/a/b.git', 'b'],
    ['git@host.example:a/b.git', null, 'git@host.example:a/b.git', 'b'],
    ['ssh://git@host.example/a/b', null, 'ssh://git@host.example/a/b', 'b'],
  ] as const)('%s at %s is %s', (given, provider, url, name) => {
    expect(repositorySource(given, provider, undefined)).toMatchObject({ url, name });
  });

  it.each([
    'nonsense',
    '-x',
    '--upload-pack=x',
    'ext::sh -c x',
    'owner/name',
    'foo://x/y',
    '/no/such/path',
    'a\nb',
  ])('is refused: %j', (given) => {
    expect(() => repositorySource(given, null, undefined)).toThrow(RepositoryError);
  });

  it('is resolved at the host that the user gave', () => {
    const stored = { token: 't', host: 'http://127.0.0.1:3000/' };
    expect(repositorySource('a/b', 'forgejo', stored).url).toBe('http://127.0.0.1:3000/a/b.git');
  });
});

describe('the token of a provider', () => {
  it.each([
    ['https://github.com/a/b.git', 'https://github.com'],
    ['https://github.com.evil.example/a/b.git', null],
    ['https://github.com@evil.example/a/b.git', null],
    ['http://github.com/a/b.git', null],
    ['https://evil.example/github.com/a.git', null],
  ])('for %s is sent to %s', (given, origin) => {
    const login = origin === null ? null : { origin, credentials: 'x-access-token:t' };
    expect(repositorySource(given, 'github', { token: 't', host: null }).login).toEqual(login);
  });
});

it.each([
  ['https://me:pw@host.example/a.git', 'https://host.example/a.git'],
  ['https://token@host.example/a.git', 'https://host.example/a.git'],
  ['https://me:p@w@host.example/a.git', 'https://host.example/a.git'],
  ['https://me:p/w@host.example/a.git', 'https://host.example/a.git'],
  ['ssh://git:pw@host.example/a.git', 'ssh://git@host.example/a.git'],
  ['git@host.example:a/b.git', 'git@host.example:a/b.git'],
  ['https://host.example:8443/a@b', 'https://host.example:8443/a@b'],
  ['owner/name', 'owner/name'],
])('%s is stored and printed as %s', (given, shown) => {
  expect(shownRepository(given)).toBe(shown);
});

it.each([
  ['https://me:pw@host.example/a.git', 'https://host.example/a.git', 'me:pw'],
  ['https://me:p@w@host.example/a.git', 'https://host.example/a.git', 'me:p@w'],
  ['https://:token@host.example/a.git', 'https://host.example/a.git', ':token'],
  ['https://me@host.example/a.git', 'https://me@host.example/a.git', null],
  ['https://host.example/a:b@c', 'https://host.example/a:b@c', null],
  ['https://me:%zz@host.example/a', 'https://host.example/a', 'me:%zz'],
])('%s is cloned as %s', (given, url, credentials) => {
  const login = credentials === null ? null : { origin: 'https://host.example', credentials };
  expect(repositorySource(given, null, undefined)).toMatchObject({ url, login });
});

it.each([
  ['/srv/a', 'path'],
  ['https://host.example/a', 'url'],
  ['git@host.example:a/b', 'scp'],
  ['owner/name', 'name'],
  ['../a', 'name'],
  ['owner', null],
  ['', null],
])('the form of the repository %j is %j', (given, form) => {
  expect(repositoryForm(given)).toBe(form);
});

it.each([
  ['https://host.example/a/b.git/', 'b'],
  ['/srv/project/.git', null],
  ['https://host.example/..', 'repository'],
  ['https://host.example/a%20b;rm', 'a-20b-rm'],
])('the folder of %s is %s', (given, name) => {
  if (name === null)
    expect(() => repositorySource(given, null, undefined)).toThrow(RepositoryError);
  else expect(repositorySource(given, null, undefined).name).toBe(name);
});

describe('messages', () => {
  it.each([
    ['main', true],
    ['feature/x-1', true],
    ['-x', false],
    ['a..b', false],
    ['a b', false],
    ['a~1', false],
    ['x.lock', false],
    ['/x', false],
    ['', false],
  ])('that name a missing branch: %j is %s', (name, isOne) => {
    expect(isBranchName(name)).toBe(isOne);
  });
});
