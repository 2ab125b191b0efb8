import { describe, expect, it } from 'vitest';
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../src/domain/settings.ts';
import { differenceOf, holdsMask, isEqual } from '../../src/domain/settings-diff.ts';
import { findSettingsField } from '../../src/domain/settings-fields.ts';

const snapshot: SettingsSnapshot = {
  stored: true,
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
  const found = findSettingsField(name);
  if (!found) throw new Error(`no field ${name}`);
  return found;
};

const setting = (values: Record<string, JsonValue>) =>
  differenceOf(snapshot, {
    set: new Map(Object.entries(values).map(([name, value]) => [field(name), value])),
    unset: [],
  });
const unsetting = (...names: string[]) => differenceOf(snapshot, { set: new Map(), unset: names.map(field) });

describe('differenceOf', () => {
  it('keeps only what differs', () => {
    expect(setting({ max_iterations: 7, llm_model: 'openai/gpt-4o' })).toEqual({
      set: { max_iterations: 7 },
      unset: [],
      shown: [{ name: 'max_iterations', before: '500', after: '7' }],
    });
  });

  it('shows a secret by its change', () => {
    const { shown } = setting({ llm_api_key: 'one', search_api_key: 'two', sandbox_api_key: 'three' });
    expect(shown).toEqual([
      { name: 'llm_api_key', before: '(set)', after: '(changed)' },
      { name: 'search_api_key', before: '(unset)', after: '(set)' },
      { name: 'sandbox_api_key', before: '(unknown)', after: '(set)' },
    ]);
  });

  it('writes a secret that is given, because it cannot be compared', () => {
    expect(setting({ llm_api_key: 'one' }).set).toEqual({ llm_api_key: 'one' });
  });

  it('does not clear a secret that is not set', () => {
    expect(setting({ search_api_key: '' }).shown).toEqual([]);
    expect(unsetting('search_api_key', 'llm_base_url').shown).toEqual([]);
    expect(unsetting('llm_api_key', 'sandbox_api_key').unset).toEqual(['llm_api_key', 'sandbox_api_key']);
  });

  it('resets a value to its default', () => {
    expect(unsetting('max_iterations').shown).toEqual([]);
    expect(unsetting('llm_model').shown).toEqual([{ name: 'llm_model', before: 'openai/gpt-4o', after: '(unset)' }]);
  });

  it('names the value that is effective after an unset', () => {
    const changed = { ...snapshot, values: { ...snapshot.values, max_iterations: 9 } };
    const { shown } = differenceOf(changed, { set: new Map(), unset: [field('max_iterations')] });
    expect(shown).toEqual([{ name: 'max_iterations', before: '9', after: '(unset, so 500)' }]);
  });

  it('treats an MCP config without its empty lists as equal', () => {
    expect(
      setting({ mcp_config: { shttp_servers: [{ url: 'https://mcp.example.org', api_key: '<redacted>' }] } }).shown,
    ).toEqual([]);
  });

  it('writes an MCP config with a key, and does not show the key', () => {
    const wanted = { shttp_servers: [{ url: 'https://mcp.example.org', api_key: 'hush' }] };
    const { set, shown } = setting({ mcp_config: wanted });
    expect(set).toEqual({ mcp_config: wanted });
    expect(JSON.stringify(shown)).not.toContain('hush');
  });
});

describe('holdsMask', () => {
  it.each([['(set)'], ['**********'], ['<redacted>'], [{ a: [{ b: '<redacted>' }] }]] as JsonValue[][])(
    'finds it in %j',
    (value) => {
      expect(holdsMask(value ?? null)).toBe(true);
    },
  );

  it('accepts ordinary values', () => {
    expect([null, 'set', 7, { a: ['x'] }].some((value) => holdsMask(value))).toBe(false);
  });
});

describe('isEqual', () => {
  it('compares by content, order of members aside', () => {
    expect(isEqual({ a: [1, { b: null }], c: 2 }, { c: 2, a: [1, { b: null }] })).toBe(true);
    expect(isEqual([1], { 0: 1 })).toBe(false);
    expect(isEqual({ a: 1 }, { b: 1 })).toBe(false);
  });
});
