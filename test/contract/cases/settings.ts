/** Settings: read, set, unset, and nothing lost or shown that should not be. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { expectCode, json, ok } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

type Settings = Record<string, unknown>;

const read = async (target: Target): Promise<Settings> =>
  json<Settings>(await ok(target, 'settings', 'get', '--json'));

/** Whether the settings are at the route of V0. */
const isV0 = (target: Target): boolean => target.dialects.includes('v0');

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
      await ok(target, 'settings', 'set', 'git_user_name=Before');
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
      const path = isV0(target) ? '/api/settings' : '/api/v1/settings';
      const stored = async (): Promise<unknown> => (await target.request('GET', path)).body;
      await ok(target, 'settings', 'set', 'max_iterations=31', 'git_user_name=Kept');
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
      await ok(target, 'settings', 'unset', 'max_iterations', 'git_user_name');
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
      await ok(target, 'settings', 'set', 'git_user_email=someone@example.com');
      expect((await read(target))['mcp_config']).toEqual(json<Settings>(before)['mcp_config']);
      await ok(target, 'settings', 'unset', 'mcp_config', 'git_user_email');
    },
  },
  {
    name: 'settings: a value that would make later requests fail is refused before it is sent',
    async run(target) {
      const before = await read(target);
      const wrong = [
        'confirmation_mode=perhaps',
        'max_iterations=many',
        'remote_runtime_resource_factor=3',
      ];
      if (!isV0(target))
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
