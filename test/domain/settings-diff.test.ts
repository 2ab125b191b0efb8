import { describe, expect, it } from 'vitest';
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../src/domain/settings.ts';
import {
  differencesOf,
  hasMask,
  settingsRecord,
  unstoredOf,
} from '../../src/domain/settings-diff.ts';
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
    expect(
      setting({ llm_api_key: 'one', search_api_key: 'two', sandbox_api_key: 'three' }),
    ).toEqual([
      { name: 'llm_api_key', before: '(set)', after: '(changed)' },
      { name: 'search_api_key', before: '(unset)', after: '(set)' },
      { name: 'sandbox_api_key', before: '(unknown)', after: '(set)' },
    ]);
  });

  it('does not clear a secret that is not set', () => {
    expect(setting({ search_api_key: '' })).toEqual([]);
    expect(unsetting(['search_api_key', 'llm_base_url'])).toEqual([]);
    expect(unsetting(['llm_api_key', 'sandbox_api_key'])).toEqual([
      { name: 'llm_api_key', before: '(set)', after: '(unset)' },
      { name: 'sandbox_api_key', before: '(unknown)', after: '(unset)' },
    ]);
  });

  it('resets a value to its default, and names the default', () => {
    expect(unsetting(['max_iterations'])).toEqual([]);
    expect(unsetting(['llm_model'])).toEqual([
      { name: 'llm_model', before: 'openai/gpt-4o', after: '(unset)' },
    ]);
    const changed = { ...snapshot, values: { ...snapshot.values, max_iterations: 9 } };
    expect(unsetting(['max_iterations'], changed)).toEqual([
      { name: 'max_iterations', before: '9', after: '(unset, so 500)' },
    ]);
  });

  it('compares lists by length and order, and objects by the members that are wanted', () => {
    const one = {
      ...field('mcp_config'),
      name: 'verification',
      default: { on: true, list: ['a', 'b'] },
    };
    const lists = [['a', 'b'], ['a'], ['b', 'a'], ['a', 'b', 'c'], ['a', 'c'], 'ab', {}].map(
      (list) => ({ list }),
    );
    const wanted: JsonValue[] = [...lists, {}, { on: true }, { on: true, other: 1 }, [], 'on'];
    const found = wanted.map(
      (value) => differencesOf(snapshot, { set: new Map([[one, value]]), unset: [] }).length,
    );
    expect(found).toEqual([0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1]);
  });

  it('treats an MCP config without its empty lists as equal', () => {
    expect(
      setting({
        mcp_config: { shttp_servers: [{ url: 'https://mcp.example.org', api_key: '<redacted>' }] },
      }),
    ).toEqual([]);
  });

  it('writes an MCP config with a key, and does not show the key', () => {
    const servers = [{ url: 'https://mcp.example.org', api_key: 'hush' }];
    const wanted = { sse_servers: [], shttp_servers: servers, stdio_servers: [] };
    expect(changes({ mcp_config: wanted })).toMatchObject([{ value: wanted }]);
    expect(setting({ mcp_config: wanted })).toEqual([
      {
        name: 'mcp_config',
        before: JSON.stringify(snapshot.values['mcp_config']),
        after: '(changed)',
      },
    ]);
  });
});

describe('unstoredOf', () => {
  it('names what the server returns otherwise than it was written', () => {
    const written = changes({ language: 'de', llm_api_key: 'k' }, ['llm_model']);
    const before = snapshot;
    const after = {
      values: { ...before.values, language: 'de', llm_model: null },
      secrets: before.secrets,
    };
    expect(unstoredOf(after, before, written)).toEqual([]);
    expect(unstoredOf({ ...before, secrets: { llm_api_key: 'unset' } }, before, written)).toEqual([
      'language is (unset), not de',
      'llm_api_key is (unset), not (set)',
      'llm_model is openai/gpt-4o, not (unset)',
    ]);
    const other = { values: { ...after.values, llm_model: 'of the server' }, secrets: {} };
    expect(unstoredOf(other, before, written)).toEqual([]);
  });

  it('compares MCP servers by their names, in any order', () => {
    const written = changes({ mcp_config: { b: { url: 'u' }, a: { url: 'v' } } });
    const after = (mcp_config: JsonValue) => ({ ...snapshot, values: { mcp_config } });
    expect(unstoredOf(after({ a: { url: '***' }, b: {} }), snapshot, written)).toEqual([]);
    expect(unstoredOf(after({ a: {} }), snapshot, written)).toHaveLength(1);
  });
});

it('settingsRecord has the value or default of each field, and only whether a secret is set', () => {
  const names = ['max_iterations', 'language', 'llm_api_key', 'search_api_key'];
  const record = {
    max_iterations: 500,
    language: null,
    llm_api_key: '(set)',
    search_api_key: null,
  };
  expect(settingsRecord(snapshot, names.map(field))).toEqual(record);
});

it('hasMask finds what the output has in place of a secret, and accepts ordinary values', () => {
  const words = ['(set)', '(changed)', '(unset)', '(unknown)', '**********', '<redacted>'];
  expect([...words, { a: ['x', { b: '<redacted>' }] }].filter((value) => !hasMask(value))).toEqual(
    [],
  );
  const values = [null, 'set', 7, { a: ['x'] }, 'is (set)', '(set) by hand'];
  expect(values.some((value) => hasMask(value))).toBe(false);
});
