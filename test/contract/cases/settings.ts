/** Settings, secrets and git providers. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import path, { join } from 'node:path';
import { expect } from 'vitest';
import { expectCode, json, ok, type ListJson } from '../support.ts';
import type { ContractCase, Target, Verdict } from '../target.ts';
import { GIT_TOKEN, startGitHost } from '../../genuine/git-host.ts';
import type { Ended } from '../../support/world.ts';

type Settings = Record<string, unknown>;

const read = async (target: Target): Promise<Settings> =>
  json<Settings>(await ok(target, 'settings', 'get', '--json'));

/** Whether the settings are at the route of V0. */
const isV0 = (target: Target): boolean => target.dialects.includes('v0');

const isBackend = (target: Target): boolean => target.dialects.includes('agent');

/** Of a setting that takes any text. */
const freeText = (target: Target): string =>
  isBackend(target) ? 'agent_settings.llm.openrouter_app_name' : 'git_user_name';

/** V0 cannot tell that `sandbox_api_key` is set, so it is not compared. */
function without(settings: Settings, ...names: string[]): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(([name]) => !names.includes(name) && name !== 'changed'),
  );
}

export const SETTINGS: ContractCase[] = [
  {
    name: 'settings: one is set and unset again, all others stay',
    async run(target) {
      await ok(target, 'settings', 'set', `${freeText(target)}=Before`);
      const before = await read(target);
      const set = json<Settings>(
        await ok(target, 'settings', 'set', 'max_iterations=17', '--json'),
      );
      expect(set).toMatchObject({ max_iterations: 17, changed: true });
      const after = await read(target);
      expect(after['max_iterations']).toBe(17);
      expect(without(after, 'max_iterations')).toEqual(without(before, 'max_iterations'));
      expect(
        json<Settings>(await ok(target, 'settings', 'set', 'max_iterations=17', '--json'))[
          'changed'
        ],
      ).toBe(false);
      await ok(target, 'settings', 'unset', 'max_iterations');
      const end = await read(target);
      expect(end['max_iterations']).not.toBe(17);
      expect(without(end, 'max_iterations')).toEqual(without(before, 'max_iterations'));
    },
  },
  {
    name:
      'settings: what is not named stays as the server has it, and what was read can be ' +
      'written back',
    async run(target) {
      const isOld = isV0(target) || isBackend(target);
      const path = isOld ? '/api/settings' : '/api/v1/settings';
      const other = freeText(target);
      const stored = async (): Promise<unknown> => (await target.request('GET', path)).body;
      await ok(target, 'settings', 'set', 'max_iterations=31', `${other}=Kept`);
      const before = await stored();
      await ok(target, 'settings', 'set', 'max_iterations=32');
      expect(await stored()).not.toEqual(before);
      await ok(target, 'settings', 'set', 'max_iterations=31');
      expect(await stored()).toEqual(before);
      const file = join(target.dir, 'settings.json');
      const { changed: _, ...all } = await read(target);
      await writeFile(file, JSON.stringify(all));
      const written = await ok(target, 'settings', 'set', '--file', file, '--json');
      expect(json<Settings>(written)['changed']).toBe(false);
      expect(await stored()).toEqual(before);
      await ok(target, 'settings', 'unset', 'max_iterations', other);
    },
  },
  {
    name: 'settings: a secret is taken from a file and never shown',
    async run(target) {
      const secret = 'sk-kept-to-itself-0123456789';
      const file = join(target.dir, 'llm.key');
      await writeFile(file, `${secret}\n`);
      const set = await ok(target, 'settings', 'set', `llm_api_key=@${file}`, '--json', '--debug');
      const got = await ok(target, 'settings', 'get', '--json', '--debug');
      expect(set.out + set.err + got.out + got.err).not.toContain(secret);
      expect(json<Settings>(got)['llm_api_key']).toBe('(set)');
      expectCode(await target.acs('settings', 'set', `llm_api_key=${secret}`), 2);
    },
  },
  {
    name: 'settings: MCP servers survive a write, and their keys are never shown',
    async run(target) {
      const secret = 'mcp-kept-to-itself-0123456789';
      const file = join(target.dir, 'mcp.json');
      const server = { url: 'http://127.0.0.1:9/sse', api_key: secret };
      const { api_key: _, ...plain } = server;
      const ofV1 = {
        own: { ...plain, transport: 'sse', headers: { Authorization: `Bearer ${secret}` } },
      };
      const forms = [{ sse_servers: [server] }, ofV1];
      const { out: schema } = await ok(target, 'settings', 'schema', 'mcp_config', '--json');
      const [config, other] = schema.includes('sse_servers') ? forms : forms.reverse();
      await writeFile(file, JSON.stringify(other));
      expectCode(await target.acs('settings', 'set', `mcp_config=@${file}`), 2);
      await writeFile(file, JSON.stringify(config));
      await ok(target, 'settings', 'set', `mcp_config=@${file}`);
      const before = await ok(target, 'settings', 'get', '--json', '--debug');
      expect(before.out + before.err).not.toContain(secret);
      expect(JSON.stringify(json<Settings>(before)['mcp_config'])).toContain('127.0.0.1:9/sse');
      await ok(target, 'settings', 'set', `${freeText(target)}=Kept`);
      expect((await read(target))['mcp_config']).toEqual(json<Settings>(before)['mcp_config']);
      await ok(target, 'settings', 'unset', 'mcp_config', freeText(target));
    },
  },
  {
    name: 'settings: a value that would make later requests fail is refused before it is sent',
    async run(target) {
      const before = await read(target);
      const wrong = ['confirmation_mode=perhaps', 'max_iterations=many'];
      if (!isBackend(target)) wrong.push('remote_runtime_resource_factor=3');
      if (target.dialects.includes('v1') && !isV0(target))
        wrong.push('sandbox_grouping_strategy=BY_COLOUR', 'enable_sound_notifications=7');
      for (const word of wrong) expectCode(await target.acs('settings', 'set', word), 2, word);
      expectCode(await target.acs('settings', 'set', 'max_iteratons=3'), 2);
      expect(await read(target)).toEqual(before);
    },
  },
  {
    name: 'settings: the schema, where the server has one',
    async run(target) {
      const ended = await target.acs('settings', 'schema', '--json');
      expectCode(ended, 0);
      expect(ended.out).toContain('max_iterations');
    },
  },
  {
    name: 'settings: a dry run shows the requests and changes nothing',
    async run(target) {
      const before = await read(target);
      const dry = json<{ dry_run: boolean; requests: unknown[] }>(
        await ok(target, 'settings', 'set', 'max_iterations=23', '--dry-run', '--json'),
      );
      expect(dry.dry_run).toBe(true);
      expect(dry.requests.length).toBeGreaterThan(0);
      expect(await read(target)).toEqual(before);
    },
  },
];

// Secrets of the user at the server, and model settings kept under names.

interface SecretJson {
  name: string;
  description: string | null;
}

const NAME = 'CONTRACT_TOKEN';
const VALUES = ['first-value-0123456789', 'second-value-9876543210'] as const;

const list = async (target: Target): Promise<SecretJson[]> =>
  json<ListJson<SecretJson>>(await ok(target, 'secret', 'list', '--json', '--all-pages')).items;

export const SECRETS: ContractCase[] = [
  {
    name: 'secrets: stored, replaced, listed and deleted; no value is ever shown',
    async run(target) {
      const said: string[] = [];
      const set = async (value: string, ...flags: string[]): Promise<void> => {
        const args = ['secret', 'set', NAME, '--from-env', NAME, '--json', '--debug', ...flags];
        const ended = expectCode(await target.invoke({ args, env: { [NAME]: value } }), 0);
        said.push(ended.out, ended.err);
        expect(json<{ changed: boolean }>(ended)).toMatchObject({ name: NAME, changed: true });
      };
      await set(VALUES[0], '--description', 'for the contract');
      await set(VALUES[1]);
      const found = (await list(target)).filter(({ name }) => name === NAME);
      expect(found).toEqual([{ name: NAME, description: 'for the contract', scope: null }]);
      expect(said.join('')).not.toMatch(new RegExp(VALUES.join('|')));
      await ok(target, 'secret', 'delete', NAME, '-y');
      expect((await list(target)).map(({ name }) => name)).not.toContain(NAME);
      expectCode(await target.acs('secret', 'delete', NAME, '-y'), 5);
      await ok(target, 'secret', 'delete', NAME, '-y', '--ignore-not-found');
      expectCode(await target.acs('secret', 'set', 'not-a-name', '--from-env', 'PATH'), 2);
    },
  },
  {
    name: 'model profiles: saved, listed, used, deleted; exit 12 where there are none',
    async run(target) {
      const profiles = async (...args: string[]) => target.acs('settings', 'profile', ...args);
      const first = await profiles('list', '--json');
      if (first.code === 12) {
        expectCode(await profiles('save', 'fast'), 12);
        expectCode(await profiles('use', 'fast'), 12);
        return 'unsupported';
      }
      expectCode(first, 0);
      expectCode(await profiles('save', 'fast', 'llm_model=openai/gpt-4o-mini'), 0);
      expect((await profiles('list', '--json')).out).toContain('gpt-4o-mini');
      expectCode(await profiles('use', 'nobody'), 5);
      expectCode(await profiles('delete', 'fast', '-y'), 0);
      expectCode(await profiles('delete', 'fast', '-y'), 5);
      expect((await profiles('list', '--json')).out).not.toContain('gpt-4o-mini');
    },
  },
];

// Tokens of git providers, and what a server lists with them. The host is a Forgejo on loopback.

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
async function withGitHost(
  target: Target,
  run: (url: string) => Promise<void>,
): Promise<Verdict | void> {
  if (isBackend(target)) {
    expectCode(await target.acs('git-provider', 'list'), 12);
    expectCode(await target.acs('repo', 'list'), 12);
    return 'unsupported';
  }
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
    run: (target) =>
      withGitHost(target, async (url) => {
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
      }),
  },
  {
    name: 'repositories and branches: listed and searched with a token, exit 4 without one',
    run: (target) =>
      withGitHost(target, async (url) => {
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
      }),
  },
];
