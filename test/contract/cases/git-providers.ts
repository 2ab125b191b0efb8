/**
 * Tokens of git providers, and what a server lists with them. The host is a Forgejo on loopback.
 */
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { GIT_TOKEN, startGitHost } from '../../genuine/git-host.ts';
import type { Ended } from '../../support/world.ts';
import { expectCode, json, ok, type ListJson } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

interface ProviderJson {
  git_provider: string;
  host: string | null;
}

const providers = async (target: Target): Promise<ProviderJson[]> =>
  json<ListJson<ProviderJson>>(await ok(target, 'git-provider', 'list', '--json')).items;

const set = (
  target: Target,
  provider: string,
  host: string,
  token: string,
  ...flags: string[]
): Promise<Ended> =>
  target.invoke({
    args: ['git-provider', 'set', provider, '--host', host, '--token-file', '-', ...flags],
    stdin: token,
  });

/**
 * With a git host of its own; the provider that the target had before is stored again at the end.
 */
async function withGitHost(target: Target, run: (url: string) => Promise<void>): Promise<void> {
  // A server without settings does not report its providers.
  await ok(target, 'settings', 'set', 'language=en');
  const before = (await providers(target)).find(({ git_provider }) => git_provider === 'forgejo');
  const host = await startGitHost(await mkdtemp(path.join(target.dir, 'git-')));
  try {
    await run(host.url);
  } finally {
    if (before !== undefined)
      expectCode(await set(target, 'forgejo', before.host ?? '', GIT_TOKEN), 0);
    else await target.acs('git-provider', 'delete', 'forgejo', '-y', '--ignore-not-found');
    await host.close();
  }
}

export const GIT_PROVIDERS: ContractCase[] = [
  {
    name: 'git providers: a token is tried, stored, listed without it, replaced and deleted',
    async run(target) {
      await withGitHost(target, async (url) => {
        const refused = expectCode(await set(target, 'forgejo', url, 'a-wrong-token', '--json'), 4);
        expect(refused.err).toContain('valid forgejo token');
        const stored = expectCode(
          await set(target, 'forgejo', url, GIT_TOKEN, '--json', '--debug'),
          0,
        );
        expect(json(stored)).toEqual({ git_provider: 'forgejo', host: url, changed: true });
        expect(stored.out + stored.err).not.toContain(GIT_TOKEN);
        expect(expectCode(await set(target, 'forgejo', url, GIT_TOKEN), 0).err).toContain(
          'it was replaced',
        );
        expect(await providers(target)).toContainEqual({ git_provider: 'forgejo', host: url });
        // The local service alone takes a token that it cannot try.
        const other = await set(target, 'gitlab', url, 'token-of-another-provider');
        expect([0, 4], other.err).toContain(other.code);
        if (other.code === 0) await ok(target, 'git-provider', 'delete', 'gitlab', '-y');
        expect(await providers(target)).toEqual([{ git_provider: 'forgejo', host: url }]);
        await ok(target, 'git-provider', 'delete', 'forgejo', '-y');
        expect(await providers(target)).toEqual([]);
        expectCode(await target.acs('git-provider', 'delete', 'forgejo', '-y'), 5);
        await ok(target, 'git-provider', 'delete', 'forgejo', '-y', '--ignore-not-found');
      });
    },
  },
  {
    name: 'repositories and branches: listed and searched with a token, exit 4 without one',
    async run(target) {
      await withGitHost(target, async (url) => {
        await target.acs('git-provider', 'delete', 'forgejo', '-y', '--ignore-not-found');
        expect(expectCode(await target.acs('repo', 'list'), 4).err).toContain(
          'acs git-provider set',
        );
        expectCode(await set(target, 'forgejo', url, GIT_TOKEN), 0);
        const lines = async (...args: string[]): Promise<string[]> =>
          (await ok(target, 'repo', ...args, '-q')).out.split('\n').slice(0, -1);
        expect(await lines('list')).toEqual(['demo/hello']);
        expect(await lines('list', '--search', 'hello', '--git-provider', 'forgejo')).toEqual([
          'demo/hello',
        ]);
        const { items } = json<ListJson<object>>(await ok(target, 'repo', 'list', '--json'));
        expect(items).toEqual([
          {
            name: 'demo/hello',
            git_provider: 'forgejo',
            public: true,
            default_branch: 'main',
            stars: 0,
            pushed_at: '2026-01-01T00:00:00Z',
          },
        ]);
        expect((await lines('branches', 'demo/hello')).sort()).toEqual(['main', 'matrix', 'next']);
        expect(await lines('branches', 'demo/hello', '--search', 'nex')).toEqual(['next']);
        expect((await ok(target, 'repo', 'branches', 'demo/nowhere')).err).toContain(
          'lists no branch',
        );
      });
    },
  },
];
