import { describe, expect, it } from 'vitest';
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../src/domain/settings.ts';
import { differencesOf, hasMask, unstoredOf } from '../../src/domain/settings-diff.ts';
import { SETTINGS_FIELDS } from '../../src/domain/settings-fields.ts';

const snapshot: SettingsSnapshot = {
  values: {
    max_iterations: 500,
    llm_model: 'openai/gpt-4o',
    llm_base_url: null,
    mcp_config: {
      sse_servers: [],
      shttp_servers: [{ url: 'https://mcp.example.org', api_key: '<redacted>' }],
      stdio_servers: [],
    },
  },
  secrets: { llm_api_key: 'set', search_api_key: 'unset', sandbox_api_key: 'unknown' },
};

const field = (name: string): SettingsField => {
  const found = SETTINGS_FIELDS.find((one) => one.name === name);
  if (!found) throw new Error(`no field ${name}`);
  return found;
};

const changes = (values: Record<string, JsonValue>, unset: string[] = [], of = snapshot) =>
  differencesOf(of, {
    set: new Map(Object.entries(values).map(([name, value]) => [field(name), value])),
    unset: unset.map(field),
  });
const setting = (values: Record<string, JsonValue>, of = snapshot) =>
  changes(values, [], of).map(({ field: { name }, before, after }) => ({ name, before, after }));
const unsetting = (names: string[], of = snapshot) =>
  changes({}, names, of).map(({ field: { name }, before, after }) => ({ name, before, after }));

describe('differencesOf', () => {
  it('has only what differs', () => {
    expect(setting({ max_iterations: 7, llm_model: 'openai/gpt-4o', llm_base_url: '' })).toEqual([
      { name: 'max_iterations', before: '500', after: '7' },
    ]);
  });

  it('shows a secret by its change', () => {
    expect(setting({ llm_api_key: 'one', search_api_key: 'two', sandbox_api_key: 'three' })).toEqual([
      { name: 'llm_api_key', before: '(set)', after: '(changed)' },
      { name: 'search_api_key', before: '(unset)', after: '(set)' },
      { name: 'sandbox_api_key', before: '(unknown)', after: '(set)' },
    ]);
  });

  it('does not clear a secret that is not set', () => {
    expect(setting({ search_api_key: '' })).toEqual([]);
    expect(unsetting(['search_api_key', 'llm_base_url'])).toEqual([]);
    expect(unsetting(['llm_api_key', 'sandbox_api_key']).map(({ name }) => name)).toEqual([
      'llm_api_key',
      'sandbox_api_key',
    ]);
  });

  it('resets a value to its default, and names the default', () => {
    expect(unsetting(['max_iterations'])).toEqual([]);
    expect(unsetting(['llm_model'])).toEqual([{ name: 'llm_model', before: 'openai/gpt-4o', after: '(unset)' }]);
    const changed = { ...snapshot, values: { ...snapshot.values, max_iterations: 9 } };
    expect(unsetting(['max_iterations'], changed)).toEqual([
      { name: 'max_iterations', before: '9', after: '(unset, so 500)' },
    ]);
  });

  it('treats an MCP config without its empty lists as equal', () => {
    expect(
      setting({ mcp_config: { shttp_servers: [{ url: 'https://mcp.example.org', api_key: '<redacted>' }] } }),
    ).toEqual([]);
  });

  it('writes an MCP config with a key, and does not show the key', () => {
    const wanted = { shttp_servers: [{ url: 'https://mcp.example.org', api_key: 'hush' }] };
    expect(changes({ mcp_config: wanted })).toMatchObject([{ value: wanted }]);
    expect(JSON.stringify(setting({ mcp_config: wanted }))).not.toContain('hush');
  });
});

describe('unstoredOf', () => {
  it('names what the server returns otherwise than it was written', () => {
    const written = changes({ language: 'de', llm_api_key: 'k' }, ['llm_model']);
    const before = snapshot;
    const after = { values: { ...before.values, language: 'de', llm_model: null }, secrets: before.secrets };
    expect(unstoredOf(after, before, written)).toEqual([]);
    expect(unstoredOf({ ...before, secrets: { llm_api_key: 'unset' } }, before, written)).toEqual([
      'language is (unset), not de',
      'llm_api_key is (unset), not (set)',
      'llm_model is openai/gpt-4o, not (unset)',
    ]);
  });
});

describe('hasMask', () => {
  it.each([['(set)'], ['**********'], ['<redacted>'], [{ a: [{ b: '<redacted>' }] }]] as JsonValue[][])(
    'finds it in %j',
    (value) => {
      expect(hasMask(value ?? null)).toBe(true);
    },
  );

  it('accepts ordinary values', () => {
    expect([null, 'set', 7, { a: ['x'] }].some((value) => hasMask(value))).toBe(false);
  });
});
