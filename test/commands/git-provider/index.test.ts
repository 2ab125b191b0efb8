import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REFUSED_TOKEN, startGitServer, type GitServer } from '../../servers/support/git-server.ts';
import { onTerminal } from '../conv/on-terminal.ts';

const TOKEN = 'token-of-a-provider-4711';

describe.each(['v1', 'v0'] as const)('git-provider over %s', (dialect) => {
  let at: GitServer;
  beforeEach(async () => {
    at = await startGitServer(dialect);
  });
  afterEach(() => at.close());
  const set = (...args: string[]) =>
    at.invoke({ args: ['git-provider', 'set', ...args, '--token-file', '-'], stdin: `${TOKEN}\n` });

  it('list prints providers and hosts, and no token', async () => {
    at.data.tokens = { github: { token: TOKEN, host: null }, forgejo: { token: TOKEN, host: 'git.example.com' } };
    const { code, out, err } = await at.acs('git-provider', 'list', '--json', '--debug');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      items: [
        { git_provider: 'github', host: null },
        { git_provider: 'forgejo', host: 'git.example.com' },
      ],
      has_more: false,
    });
    expect(out + err).not.toContain(TOKEN);
    expect((await at.acs('git-provider', 'list', '-q')).out).toBe('github\nforgejo\n');
  });

  it('set stores a token and keeps those of other providers with their hosts', async () => {
    at.data.tokens = { gitlab: { token: 'kept-token', host: 'https://gitlab.example' } };
    const { code, out, err } = await set('forgejo', '--host', 'http://127.0.0.1:3997/', '--json', '--debug');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toEqual({ git_provider: 'forgejo', host: 'http://127.0.0.1:3997', changed: true });
    expect(at.data.tokens).toEqual({
      gitlab: { token: 'kept-token', host: 'https://gitlab.example' },
      forgejo: { token: TOKEN, host: 'http://127.0.0.1:3997' },
    });
    expect(out + err).not.toMatch(new RegExp(`${TOKEN}|kept-token`));
  });

  it('set replaces a token, keeps its host, and prints a notice', async () => {
    at.data.tokens = { forgejo: { token: 'first', host: 'git.example.com' } };
    const { code, err } = await set('forgejo');
    expect(code).toBe(0);
    expect(err).toContain('the server had a token of forgejo; it was replaced');
    expect(at.data.tokens).toEqual({ forgejo: { token: TOKEN, host: 'git.example.com' } });
  });

  it('set exits 4 when the provider refuses the token, and stores nothing', async () => {
    await writeFile(path.join(at.home, 'token'), REFUSED_TOKEN);
    const { code, err } = await at.acs('git-provider', 'set', 'gitlab', '--token-file', 'token', '--json');
    expect(code).toBe(4);
    expect(JSON.parse(err)).toMatchObject({
      error: {
        code: 'auth',
        message: expect.stringContaining('Please make sure it is a valid gitlab token') as string,
        hint: expect.stringContaining('--host') as string,
      },
    });
    expect(Object.keys(at.data.tokens)).toEqual(['github']);
  });

  it('set --dry-run reads, sends nothing, and prints the request without the token', async () => {
    const { code, out, err } = await set('gitlab', '--dry-run', '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      dry_run: true,
      requests: [{ method: 'POST', body: { provider_tokens: { github: { host: null }, gitlab: { host: null } } } }],
    });
    expect(out + err).not.toContain(TOKEN);
    expect(at.writes()).toEqual([]);
  });

  it('delete removes the named token and keeps the others', async () => {
    at.data.tokens = { github: { token: 'a', host: null }, forgejo: { token: 'b', host: 'git.example.com' } };
    const { code, out, err } = await at.acs('git-provider', 'delete', 'github', '-y', '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toEqual({ git_provider: 'github', host: null, changed: true });
    expect(at.data.tokens).toEqual({ forgejo: { token: 'b', host: 'git.example.com' } });
    expect((await at.acs('git-provider', 'delete', 'forgejo', '-y')).code).toBe(0);
    expect(at.data.tokens).toEqual({});
  });

  it('delete removes several tokens, one after the other', async () => {
    const token = { token: 'a', host: null };
    at.data.tokens = { github: token, gitlab: token, bitbucket: token };
    const { code, out, err } = await at.acs('git-provider', 'delete', 'github', 'gitlab', 'forgejo', '-y', '--json');
    expect(code, err).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      items: [
        { id: 'github', ok: true, changed: true, after: null },
        { id: 'gitlab', ok: true, changed: true },
        { id: 'forgejo', ok: false, error: { code: 'not-found' } },
      ],
      matched: 3,
      failed: 1,
    });
    expect(Object.keys(at.data.tokens)).toEqual(['bitbucket']);
  });

  it('delete of a provider without a token exits 5, and 0 with --ignore-not-found', async () => {
    expect((await at.acs('git-provider', 'delete', 'gitlab', '-y')).code).toBe(5);
    const { code, out } = await at.acs('git-provider', 'delete', 'gitlab', '-y', '--ignore-not-found', '--json');
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: { git_provider: 'gitlab', host: null, changed: false },
    });
    expect(at.writes()).toEqual([]);
  });

  it('delete needs -y off a terminal, and sends nothing without it', async () => {
    expect((await at.acs('git-provider', 'delete', 'github')).code).toBe(2);
    expect(at.writes()).toEqual([]);
  });

  it('delete without -y exits 5 for a provider without a token, and asks only for those with one', async () => {
    expect((await at.acs('git-provider', 'delete', 'gitlab')).code).toBe(5);
    expect((await at.acs('git-provider', 'delete', 'gitlab', '--ignore-not-found')).code).toBe(0);
    const { code, err } = await at.acs('git-provider', 'delete', 'github', 'gitlab');
    expect(code).toBe(2);
    expect(err).toContain('delete the token of github?');
    expect(at.writes()).toEqual([]);
  });

  it('delete exits 9 when the server drops more than it was sent', async () => {
    at.data.tokens = { github: { token: 'a', host: null }, gitlab: { token: 'b', host: null } };
    at.odd = ({ method }) => {
      if (method === 'POST') at.data.tokens = {};
      return method === 'POST' ? { json: {} } : null;
    };
    const { code, err } = await at.acs('git-provider', 'delete', 'github', '-y');
    expect(code).toBe(9);
    expect(err).toContain('has no token of gitlab now');
  });

  it('a server with tokens and without settings is exit 6, because it does not report whose they are', async () => {
    at.data.hasSettings = false;
    for (const args of [['list'], ['delete', 'github', '-y']])
      expect((await at.acs('git-provider', ...args)).code, args[0]).toBe(6);
    const refused = await set('gitlab');
    expect(refused.code).toBe(6);
    expect(refused.err).toContain('acs settings set language=en');
    expect(at.writes()).toEqual([]);
    expect((await set('gitlab', '--allow-loss')).code).toBe(0);
    expect(Object.keys(at.data.tokens)).toEqual(['gitlab']);
    expect((await at.acs('git-provider', 'delete', 'gitlab', '-y', '--allow-loss')).code).toBe(0);
    expect(at.data.tokens).toEqual({});
  });

  it('a server without tokens and without settings takes the first token', async () => {
    at.data.hasSettings = false;
    at.data.tokens = {};
    expect((await at.acs('git-provider', 'list', '--json')).out).toContain('"items": []');
    expect((await set('github')).code).toBe(0);
    expect(Object.keys(at.data.tokens)).toEqual(['github']);
  });

  it('exits 12 before anything is written where the server lacks the route', async () => {
    at.odd = ({ path: route }) =>
      route === '/openapi.json'
        ? { json: { info: {}, paths: { '/api/conversations': {}, '/api/v1/app-conversations': {} } } }
        : null;
    expect((await set('github')).code).toBe(12);
    expect((await at.acs('git-provider', 'delete', 'github', '-y')).code).toBe(12);
    expect((await at.acs('git-provider', 'list')).code).toBe(12);
    expect(at.writes()).toEqual([]);
  });
});

describe('git-provider set', () => {
  let at: GitServer;
  beforeEach(async () => {
    at = await startGitServer('v1');
  });
  afterEach(() => at.close());

  it.each([
    ['a provider that does not exist', ['nowhere', '--token-file', '-'], TOKEN],
    ['a token in the open', ['github', TOKEN], ''],
    ['no token where nobody can be asked', ['github'], ''],
    ['an empty token', ['github', '--token-file', '-'], '\n'],
    ['a file of two lines', ['github', '--token-file', '-'], 'one\ntwo\n'],
    ['a host with credentials', ['github', '--token-file', '-', '--host', 'https://user:secret@git.example'], TOKEN],
    ['a host that is none', ['github', '--token-file', '-', '--host', 'not a host'], TOKEN],
  ])('exits 2 for %s, before any request', async (_what, args, stdin) => {
    const { code, out, err } = await at.invoke({ args: ['git-provider', 'set', ...args], stdin });
    expect(code, err).toBe(2);
    expect(out + err).not.toMatch(new RegExp(`${TOKEN}|secret@`));
    expect(at.fake.asked).toEqual([]);
  });

  it('exits 3 when the file cannot be read', async () => {
    expect((await at.acs('git-provider', 'set', 'github', '--token-file', 'missing')).code).toBe(3);
  });

  it('asks for the token on a terminal', async () => {
    const world = { env: at.env, home: at.home, dir: at.home };
    const asked: string[] = [];
    const { code, err } = await onTerminal(world, ['git-provider', 'set', 'gitlab'], (question) => {
      asked.push(question);
      return Promise.resolve(TOKEN);
    });
    expect(code, err).toBe(0);
    expect(asked).toEqual(['Token of gitlab:']);
    expect(at.data.tokens['gitlab']).toEqual({ token: TOKEN, host: null });
  });
});
