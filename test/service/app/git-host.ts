/** A git host with the API of Forgejo beside an app server, and its token. */
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { GIT_TOKEN, startGitHost, type GitHost } from '../../genuine/git-host.ts';
import type { Answer, AppOfTests } from './support.ts';

/** The routes at which each dialect takes the token. */
const TOKEN_ROUTE = { v0: '/api/add-git-providers', v1: '/api/v1/secrets/git-providers' };

/** The repository of the host, as both dialects list it. */
export const HELLO = {
  id: '1',
  full_name: 'demo/hello',
  git_provider: 'forgejo',
  is_public: true,
  main_branch: 'main',
};

export interface GitHostOfTests {
  /** Ends the host within a test. */
  close: () => Promise<void>;
  /** Stores a token and the address of its host at the app server; without arguments, those of this host. */
  store: (dialect: 'v0' | 'v1', token?: string, address?: string) => Promise<Answer>;
}

/** One git host for the tests of the enclosing suite, closed after them. */
export function gitHostOfSuite(app: AppOfTests): GitHostOfTests {
  return gitHostBetween(beforeAll, afterAll, app);
}

/** A git host for each test of the enclosing suite, closed after it. */
export function gitHostOfEachTest(app: AppOfTests): GitHostOfTests {
  return gitHostBetween(beforeEach, afterEach, app);
}

type Hook = (run: () => Promise<void>) => void;

function gitHostBetween(before: Hook, after: Hook, app: AppOfTests): GitHostOfTests {
  let host: GitHost;
  before(async () => {
    host = await startGitHost(path.join(app.dir, 'git-host'));
  });
  after(() => host.close());
  return {
    close: () => host.close(),
    store: (dialect, token = GIT_TOKEN, address = host.url) =>
      app.post(TOKEN_ROUTE[dialect], { provider_tokens: { forgejo: { token, host: address } } }),
  };
}
