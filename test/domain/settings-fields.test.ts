import { describe, expect, it } from 'vitest';
import { checkSettingsValue, V0_FIELDS } from '../../src/domain/settings-fields.ts';
import type { JsonValue, SettingsField } from '../../src/domain/settings.ts';

function find(name: string): SettingsField {
  const field = V0_FIELDS.find((one) => one.name === name);
  if (field === undefined) throw new Error(`no field ${name}`);
  return field;
}

describe('the fields', () => {
  it('are the 25 of the interface, each once', () => {
    expect(new Set(V0_FIELDS.map(({ name }) => name)).size).toBe(25);
    expect(V0_FIELDS.filter(({ secret }) => secret).map(({ name }) => name)).toEqual([
      'llm_api_key',
      'secrets_store',
      'search_api_key',
      'sandbox_api_key',
    ]);
  });

  it.each<[string, JsonValue, string | null]>([
    ['max_iterations', 7, null],
    ['max_iterations', null, null],
    ['max_iterations', 0, 'must be at least 1'],
    ['max_iterations', 1.5, 'must be a whole number'],
    ['max_iterations', '7', 'must be a whole number'],
    ['confirmation_mode', 'true', 'must be true or false'],
    ['enable_sound_notifications', null, 'may not be null'],
    ['remote_runtime_resource_factor', 4, null],
    ['remote_runtime_resource_factor', 3, 'must be one of 1, 2, 4, 8'],
    ['max_budget_per_task', -1, 'must be at least 0'],
    ['llm_base_url', 'localhost', 'must be an http or https URL without a user name'],
    [
      'llm_base_url',
      'http://user:pass@host/v1',
      'must be an http or https URL without a user name',
    ],
    ['llm_base_url', '', null],
    ['llm_base_url', 'http://host', null],
    ['llm_base_url', 'https://host:1/v1/models', null],
    ['llm_base_url', 'http://ho st', 'must be an http or https URL without a user name'],
    ['llm_base_url', 'http://host/a b', 'must be an http or https URL without a user name'],
    ['max_iterations', 1, null],
    ['max_budget_per_task', 0, null],
    ['max_budget_per_task', '1', 'must be a number'],
    ['llm_model', 1, 'must be a text'],
    ['mcp_config', 1, 'must be an object'],
    ['mcp_config', { other: 1 }, expect.stringContaining('has no member other') as string],
    ['secrets_store', {}, 'is changed with acs secret set and acs git-provider set'],
  ])('%s = %j: %s', (name, value, problem) => {
    expect(checkSettingsValue(find(name), value)).toEqual(problem);
  });
});
