/** Settings that a server takes with 200 and chokes on from then on, and those it would lose (interface 2). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../servers/support/fake-server.ts';
import { recordings } from '../servers/support/recordings.ts';
import { v1Trap, fakeTrap, type FakeTrap, type V1Trap } from './support/trap.ts';
import { createV0Server, older } from './support/v0.ts';

const newer = recordings('1.11.0');
const UNHANDLED: Reply = { status: 500, text: 'Internal Server Error', type: 'text/plain' };

describe('a V1 server', () => {
  let trap: V1Trap;
  let written: unknown[];
  let stored: Record<string, unknown>;

  beforeEach(async () => {
    trap = await v1Trap();
    written = [];
    stored = newer.body('settings.get.after-plain') as Record<string, unknown>;
    trap.before = ({ method, path, body }) => {
      if (path !== '/api/v1/settings') return null;
      if (method === 'GET') return { json: stored };
      written.push(body);
      const { conversation_settings_diff, ...plain } = body as Record<string, object>;
      const conversation_settings = { ...(stored['conversation_settings'] as object), ...conversation_settings_diff };
      stored = { ...stored, ...plain, conversation_settings };
      return { json: { message: 'Settings stored' } };
    };
  });
  afterEach(() => trap.close());

  it.each([
    'enable_sound_notifications=maybe',
    'enable_sound_notifications=7',
    'sandbox_grouping_strategy=BY_COLOUR',
    'max_budget_per_task=much',
    'max_iterations=0',
    'remote_runtime_resource_factor=3',
    'disabled_skills=7',
    'no_such_setting=1',
  ])('is not sent %s, which it would store and never read again', async (word) => {
    expect(await trap.acs('settings', 'set', word)).toMatchObject({ code: 2 });
    expect(written).toEqual([]);
  });

  it('is sent the members that differ, and no whole that it would refuse or null that it would clear', async () => {
    const { code, err } = await trap.acs('settings', 'set', 'max_iterations=17', 'git_user_name=Someone');
    expect(code, err).toBe(0);
    expect(written).toEqual([{ git_user_name: 'Someone', conversation_settings_diff: { max_iterations: 17 } }]);
  });

  it('that chokes already is told as such, with what it means and who can help', async () => {
    const { before } = trap;
    trap.before = (asked) => (asked.method === 'GET' && asked.path === '/api/v1/settings' ? UNHANDLED : before(asked));
    const { code, err } = await trap.acs('settings', 'get');
    expect(code).toBe(9);
    expect(err).toContain('cannot read the settings that it has stored');
    expect(err).toContain('its operator');
    expect(await trap.acs('settings', 'set', 'max_iterations=17')).toMatchObject({ code: 9 });
    expect(written).toEqual([]);
  });

  it('whose other calls fail for it points to its settings', async () => {
    trap.before = ({ path }) => (path.startsWith('/api/v1/app-conversations/') ? UNHANDLED : null);
    const { code, err } = await trap.acs('conv', 'list');
    expect(code).toBe(9);
    expect(err).toContain('acs settings get');
  });
});

describe('a V0 server', () => {
  let trap: FakeTrap;
  let written: Record<string, unknown>[];
  let stored: Reply;

  beforeEach(async () => {
    const server = createV0Server();
    written = [];
    stored = older.reply('v0.settings.get');
    server.before = ({ method, path, body }) => {
      if (path === '/api/options/models') return { json: ['openai/gpt-4o'] };
      if (path !== '/api/settings') return null;
      if (method === 'GET') return stored;
      written.push(body as Record<string, unknown>);
      stored = { json: { ...(older.body('v0.settings.get') as object), ...(body as object) } };
      return { json: { message: 'Settings stored' } };
    };
    trap = await fakeTrap((asked) => server.handler(asked));
  });
  afterEach(() => trap.close());

  it('which replaces the whole object is sent every member it has, and no mask', async () => {
    const { code, err } = await trap.acs('settings', 'set', 'max_iterations=17');
    expect(code, err).toBe(0);
    const before = older.body('v0.settings.get') as Record<string, unknown>;
    const derived = ['provider_tokens_set', 'llm_api_key_set', 'search_api_key_set', 'secrets_store'];
    for (const [name, value] of Object.entries(before)) {
      if (derived.includes(name) || name === 'max_iterations' || value === null) continue;
      expect({ name, value: written[0]?.[name] }).toEqual({ name, value });
    }
    expect(written[0]).toMatchObject({ max_iterations: 17 });
    expect(JSON.stringify(written)).not.toMatch(/\*\*\*|\(set\)/);
    expect(written[0]).not.toHaveProperty('secrets_store');
  });

  it('says of the one secret that cannot be known that it may be lost', async () => {
    const { err } = await trap.acs('settings', 'set', 'max_iterations=17');
    expect(err).toContain('sandbox_api_key');
  });

  it('whose 401 is about what it has stored is not blamed on the key', async () => {
    stored = { status: 401, json: { error: 'Invalid token' } };
    const { code, err } = await trap.acs('settings', 'get');
    expect(code).toBe(9);
    expect(err).toContain('cannot read the settings that it has stored');
    expect(err).not.toContain('refuses the key');
  });
});
