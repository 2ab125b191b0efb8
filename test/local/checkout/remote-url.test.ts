import { describe, expect, it } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { parseRepository } from '../../../src/local/checkout/index.ts';
import { parseRemoteUrl } from '../../../src/local/checkout/remote-url.ts';

describe('parseRemoteUrl', () => {
  it.each<[string, string, string | null, string | null]>([
    [
      'https://github.com/owner/name.git',
      'https://github.com/owner/name.git',
      'owner/name',
      'github',
    ],
    ['https://github.com/owner/name/', 'https://github.com/owner/name/', 'owner/name', 'github'],
    [
      'https://user:t0ken@github.com/owner/name',
      'https://github.com/owner/name',
      'owner/name',
      'github',
    ],
    [
      'https://t0ken@github.com/owner/name',
      'https://github.com/owner/name',
      'owner/name',
      'github',
    ],
    [
      'https://gitlab.com/group/sub/name.git?private_token=t0ken',
      'https://gitlab.com/group/sub/name.git',
      'group/sub/name',
      'gitlab',
    ],
    ['git@github.com:owner/name.git', 'git@github.com:owner/name.git', 'owner/name', 'github'],
    ['GitHub.com:owner/name', 'GitHub.com:owner/name', 'owner/name', 'github'],
    [
      'ssh://git@gitlab.com:22/group/name.git',
      'ssh://git@gitlab.com:22/group/name.git',
      'group/name',
      'gitlab',
    ],
    [
      'ssh://git:t0ken@bitbucket.org/team/name',
      'ssh://git@bitbucket.org/team/name',
      'team/name',
      'bitbucket',
    ],
    [
      'git://codeberg.org/owner/name.git',
      'git://codeberg.org/owner/name.git',
      'owner/name',
      'forgejo',
    ],
    [
      'https://git.example.com:8443/owner/name',
      'https://git.example.com:8443/owner/name',
      'owner/name',
      null,
    ],
    [
      'https://org@dev.azure.com/org/project/_git/name',
      'https://dev.azure.com/org/project/_git/name',
      'org/project/name',
      'azure_devops',
    ],
    [
      'git@ssh.dev.azure.com:v3/org/project/name',
      'git@ssh.dev.azure.com:v3/org/project/name',
      'org/project/name',
      'azure_devops',
    ],
    [
      'https://org.visualstudio.com/DefaultCollection/project/_git/name',
      'https://org.visualstudio.com/DefaultCollection/project/_git/name',
      'org/project/name',
      'azure_devops',
    ],
    ['https://github.com/alone', 'https://github.com/alone', null, 'github'],
    ['file:///srv/git/name.git', 'file:///srv/git/name.git', null, null],
    ['/srv/git/name.git', '/srv/git/name.git', null, null],
    ['C:\\git\\name', 'C:\\git\\name', null, null],
  ])('%s', (text, url, repository, provider) => {
    expect(parseRemoteUrl(text)).toMatchObject({ url, repository, git_provider: provider });
  });

  it.each(['', '--upload-pack=x', 'https://', 'a\nb'])('is not %j', (text) => {
    expect(parseRemoteUrl(text)).toBeNull();
  });
});

describe('--repo', () => {
  it.each<[string, object]>([
    ['owner/name', { kind: 'name', repository: 'owner/name' }],
    ['group/sub/name', { kind: 'name', repository: 'group/sub/name' }],
    ['owner/name.git', { kind: 'name', repository: 'owner/name' }],
    [
      'github.com/owner/name',
      { kind: 'url', url: 'https://github.com/owner/name', repository: 'owner/name' },
    ],
    ['https://gitlab.com/owner/name', { kind: 'url', git_provider: 'gitlab' }],
    ['git@github.com:owner/name', { kind: 'url', git_provider: 'github' }],
    ['file:///srv/name', { kind: 'url', host: null }],
    ['.', { kind: 'path', path: '.' }],
    ['..', { kind: 'path', path: '..' }],
    ['./owner/name', { kind: 'path', path: './owner/name' }],
    ['/srv/name', { kind: 'path', path: '/srv/name' }],
    ['C:\\name', { kind: 'path', path: 'C:\\name' }],
  ])('%s', (text, expected) => {
    expect(parseRepository(text)).toMatchObject(expected);
  });

  it.each(['', ' ', 'name', '~/name', 'owner/', '-x/name', 'owner/..', 'https://user:t0ken@'])(
    '%j is exit 2 and is not repeated',
    (text) => {
      try {
        parseRepository(text);
        expect.unreachable();
      } catch (error) {
        if (!isAppError(error)) throw error;
        expect(error.exitCode).toBe(2);
        expect(error.message).not.toContain('t0ken');
      }
    },
  );
});
