import { describe, expect, it } from 'vitest';
import { REFUSED_TOKEN, useGitServer } from '../client/support/git-server.ts';
import type { Ending } from '../support/use-world.ts';

const TOKEN = 'token-of-a-provider-4711';
const token = (text = 'a', host: string | null = null) => ({ token: text, host });

describe.each(['v1', 'v0'] as const)('git-provider over %s', (dialect) => {
  const at = useGitServer(dialect, 'git-provider');
  const set = (words: string, ending: Ending & { env?: Record<string, string> } = {}) =>
    at.ends(`set ${words} --token-file -`, { stdin: `${TOKEN}\n`, hides: TOKEN, ...ending });

  it('list prints providers and hosts, and no token', async () => {
    at.data.tokens = { github: token(TOKEN), forgejo: token(TOKEN, 'git.example.com') };
    const items = [
      { git_provider: 'github', host: null },
      { git_provider: 'forgejo', host: 'git.example.com' },
    ];
    await at.ends('list --json --debug', { out: { items, has_more: false }, hides: TOKEN });
    await at.ends('list -q', { out: 'github\nforgejo\n' });
  });

  it('set stores a token and keeps those of other providers with their hosts', async () => {
    at.data.tokens = { gitlab: token('kept-token', 'https://gitlab.example') };
    const out = { git_provider: 'forgejo', host: 'http://127.0.0.1:3997', changed: true };
    await set('forgejo --host http://127.0.0.1:3997/ --json --debug', {
      out,
      hides: `${TOKEN}|kept-token`,
    });
    expect(at.data.tokens).toEqual({
      gitlab: token('kept-token', 'https://gitlab.example'),
      forgejo: token(TOKEN, 'http://127.0.0.1:3997'),
    });
  });

  it('set replaces a token, keeps its host, and prints a notice', async () => {
    at.data.tokens = { forgejo: token('first', 'git.example.com') };
    await set('forgejo', { err: 'the server had a token for forgejo; it was replaced' });
    expect(at.data.tokens).toEqual({ forgejo: token(TOKEN, 'git.example.com') });
  });

  it('set exits 4 when the provider refuses the token, and stores nothing', async () => {
    await at.file('token', REFUSED_TOKEN);
    const err = [/"code":"auth"/, 'Please make sure it is a valid gitlab token', '--host'];
    await at.ends('set gitlab --token-file token --json', { code: 4, err });
    expect(Object.keys(at.data.tokens)).toEqual(['github']);
  });

  it('set --dry-run prints the request without the token', async () => {
    const body = { provider_tokens: { github: { host: null }, gitlab: { host: null } } };
    await set('gitlab --dry-run --json', {
      out: { dry_run: true, requests: [{ method: 'POST', body }] },
      writes: [],
    });
  });

  it('delete removes the named token and keeps the others', async () => {
    at.data.tokens = { github: token(), forgejo: token('b', 'git.example.com') };
    await at.ends('delete github -y --json', {
      out: { git_provider: 'github', host: null, changed: true },
    });
    expect(at.data.tokens).toEqual({ forgejo: token('b', 'git.example.com') });
    await at.ends('delete forgejo -y', {});
    expect(at.data.tokens).toEqual({});
  });

  it('delete removes several tokens, one after the other', async () => {
    at.data.tokens = { github: token(), gitlab: token(), bitbucket: token() };
    const items = [
      { id: 'github', ok: true, changed: true, after: null },
      { id: 'gitlab', ok: true, changed: true },
      { id: 'forgejo', ok: false, error: { code: 'not-found' } },
    ];
    await at.ends('delete github gitlab forgejo -y --json', {
      code: 1,
      out: { items, matched: 3, failed: 1 },
    });
    expect(Object.keys(at.data.tokens)).toEqual(['bitbucket']);
  });

  at.rows({
    'delete of a provider without a token exits 5': {
      acs: 'delete gitlab -y',
      code: 5,
      writes: [],
    },
    'delete exits 5 before it asks': { acs: 'delete gitlab', code: 5 },
    'delete --ignore-not-found exits 0 for it': {
      acs: 'delete gitlab --ignore-not-found --json',
      out: { git_provider: 'gitlab', host: null, changed: false },
      writes: [],
    },
    'delete needs -y off a terminal': { acs: 'delete github', code: 2, writes: [] },
    'delete asks only for those with a token': {
      acs: 'delete github gitlab',
      code: 2,
      err: 'delete token for github?',
      writes: [],
    },
  });

  it('delete exits 9 when the server drops more than it was sent', async () => {
    at.data.tokens = { github: token(), gitlab: token('b') };
    at.script(({ method }) => {
      if (method === 'POST') at.data.tokens = {};
      return method === 'POST' ? { json: {} } : null;
    });
    await at.ends('delete github -y', { code: 9, err: 'has no token for gitlab now' });
  });

  it('a server with tokens and without settings is exit 6, because it does not report whose they are', async () => {
    at.data.hasSettings = false;
    for (const line of ['list', 'delete github -y']) await at.ends(line, { code: 6 });
    await set('gitlab', { code: 6, err: 'acs settings set language=en', writes: [] });
    await set('gitlab --allow-loss');
    expect(Object.keys(at.data.tokens)).toEqual(['gitlab']);
    await at.ends('delete gitlab -y --allow-loss', {});
    expect(at.data.tokens).toEqual({});
  });

  it('a server without tokens and without settings takes the first token', async () => {
    at.data.hasSettings = false;
    at.data.tokens = {};
    await at.ends('list --json', { out: { items: [] } });
    await set('github');
    expect(Object.keys(at.data.tokens)).toEqual(['github']);
  });

  it('exits 12 before anything is written where the server lacks the route', async () => {
    const paths = { '/api/conversations': {}, '/api/v1/app-conversations': {} };
    at.script({ '/openapi.json': { json: { info: {}, paths } } });
    const refused = { code: 12, env: { ACS_CONFIG_DIR: `${at.dir}/without-route` } };
    await set('github', refused);
    for (const line of ['delete github -y', 'list'])
      await at.ends(line, { ...refused, writes: [] });
  });
});

describe('git-provider set', () => {
  const at = useGitServer('v1', 'git-provider');

  it.each([
    ['a provider that does not exist', 'nowhere --token-file -', TOKEN],
    ['a token in the open', `github ${TOKEN}`, ''],
    ['no token where nobody can be asked', 'github', ''],
    ['an empty token', 'github --token-file -', '\n'],
    ['a file of two lines', 'github --token-file -', 'one\ntwo\n'],
    [
      'a host with credentials',
      'github --token-file - --host https://user:secret@git.example',
      TOKEN,
    ],
    ['a host with a blank', ['github', '--token-file', '-', '--host', 'not a host'], TOKEN],
  ])('exits 2 for %s, before any request', async (_, words, stdin) => {
    const args = ['set', ...(typeof words === 'string' ? words.split(' ') : words)];
    await at.ends(args, { stdin, code: 2, hides: `${TOKEN}|secret@`, requests: 0 });
  });

  it('exits 3 when the file cannot be read', async () => {
    await at.ends('set github --token-file missing', { code: 3 });
  });

  it('asks for the token on a terminal', async () => {
    await at.ends('set gitlab', { answers: [TOKEN], questions: ['the token for gitlab:'] });
    expect(at.data.tokens['gitlab']).toEqual(token(TOKEN));
  });
});
