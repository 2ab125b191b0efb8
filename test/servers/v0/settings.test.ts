import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeTrap, type FakeTrap } from '../../traps/support/trap.ts';
import { createV0Server, older } from '../../traps/support/v0.ts';
import type { Reply } from '../support/fake-server.ts';

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

  it('that replaces the whole object is sent every stored member, and no mask', async () => {
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

  it('makes settings set warn that the one unreadable secret may be lost', async () => {
    const { err } = await trap.acs('settings', 'set', 'max_iterations=17');
    expect(err).toContain('sandbox_api_key');
  });

  it('that answers 401 because of a stored value does not make the error name the key', async () => {
    stored = { status: 401, json: { error: 'Invalid token' } };
    const { code, err } = await trap.acs('settings', 'get');
    expect(code).toBe(9);
    expect(err).toContain('cannot read the settings that it has stored');
    expect(err).not.toContain('refuses the key');
  });
});
