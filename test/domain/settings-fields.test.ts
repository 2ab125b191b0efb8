import { describe, expect, it } from 'vitest';
import { checkMcpConfig, maskMcpConfig, mcpFromV1, mcpToV1, unmaskMcpConfig } from '../../src/domain/mcp-config.ts';
import {
  checkSettingsValue,
  findSettingsField,
  readSettingsText,
  SETTINGS_FIELDS,
} from '../../src/domain/settings-fields.ts';
import { v0SettingsBody, v1SettingsBody } from '../../src/domain/settings-merge.ts';
import type { JsonValue, SettingsField } from '../../src/domain/settings.ts';

function find(name: string): SettingsField {
  const field = findSettingsField(name);
  if (field === null) throw new Error(`no field ${name}`);
  return field;
}

describe('the fields', () => {
  it('are the 25 of the interface, each once', () => {
    expect(new Set(SETTINGS_FIELDS.map(({ name }) => name)).size).toBe(25);
    expect(SETTINGS_FIELDS.filter(({ secret }) => secret).map(({ name }) => name)).toEqual([
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
    ['llm_base_url', 'localhost', 'must be an http or https URL'],
    ['llm_base_url', '', null],
    [
      'secrets_store',
      { provider_tokens: { github: 'x' } },
      'provider_tokens.github must be an object {token, host, user_id}',
    ],
    ['secrets_store', { custom_secrets: { '1A': { secret: 's' } } }, 'custom_secrets.1A is no name of a variable'],
    ['secrets_store', { provider_tokens: { github: { token: 't' } }, custom_secrets: { A: { secret: 's' } } }, null],
  ])('%s = %j: %s', (name, value, problem) => {
    expect(checkSettingsValue(find(name), value)).toBe(problem);
  });

  it('read what is typed by their type', () => {
    expect(readSettingsText(find('max_iterations'), '7')).toBe(7);
    expect(readSettingsText(find('confirmation_mode'), 'true')).toBe(true);
    expect(readSettingsText(find('git_user_name'), '7')).toBe('7');
    expect(readSettingsText(find('git_user_name'), 'null')).toBeNull();
    expect(readSettingsText(find('max_iterations'), 'many')).toBe('many');
  });
});

describe('mcp_config', () => {
  it.each<[JsonValue, string | null]>([
    [{}, null],
    [
      {
        sse_servers: [{ url: 'wss://h/x' }],
        shttp_servers: [{ url: 'http://h', timeout: 3600 }],
        stdio_servers: [{ name: 'a-b_1', command: 'npx' }],
      },
      null,
    ],
    [[], 'must be an object with sse_servers, shttp_servers, stdio_servers'],
    [{ servers: [] }, 'has no member servers; it has sse_servers, shttp_servers, stdio_servers'],
    [{ sse_servers: {} }, 'sse_servers must be a list'],
    [{ sse_servers: [{ url: 'ftp://h' }] }, 'sse_servers[0].url must be an http, https, ws or wss URL'],
    [{ sse_servers: [{ url: 'http://h', timeout: 1 }] }, 'sse_servers[0] has no member timeout; it has url, api_key'],
    [{ shttp_servers: [{ url: 'http://h', timeout: 0 }] }, 'shttp_servers[0].timeout must be 1 to 3600 seconds'],
    [{ stdio_servers: [{ name: 'a b', command: 'x' }] }, 'stdio_servers[0].name must be letters, digits, _ and - only'],
    [
      { stdio_servers: [{ name: 'a', command: 'npx -y' }] },
      'stdio_servers[0].command must be one word; its arguments go to args',
    ],
    [
      { stdio_servers: [{ name: 'a', command: 'x', env: { A: 1 } }] },
      'stdio_servers[0].env must be an object of texts',
    ],
    [{ sse_servers: [{ url: 'http://h' }, { url: 'http://h' }] }, 'sse_servers[1] is there twice: http://h'],
  ])('%j: %s', (value, problem) => {
    expect(checkMcpConfig(value)).toBe(problem);
  });

  it('goes to the map of V1 and back, its keys masked', () => {
    const config = {
      sse_servers: [{ url: 'http://s' }, { url: 'http://t', api_key: 'k' }],
      shttp_servers: [{ url: 'http://h', timeout: 5 }],
      stdio_servers: [{ name: 'sse', command: 'c', args: ['a'], env: { A: 'b' } }],
    };
    const map = mcpToV1(config);
    expect(Object.keys(map)).toEqual(['sse', 'sse_1', 'sse_1_1', 'shttp']);
    expect(mcpFromV1(map)).toEqual({
      sse_servers: [{ url: 'http://s' }, { url: 'http://t', api_key: '<redacted>' }],
      shttp_servers: [{ url: 'http://h', timeout: 5 }],
      stdio_servers: [{ name: 'sse', command: 'c', args: ['a'], env: { A: '<redacted>' } }],
    });
  });

  it('is shown masked, and gets back what it had when it is written again', () => {
    const stored = {
      shttp_servers: [{ url: 'http://h', api_key: 'k' }],
      stdio_servers: [{ name: 'a', command: 'c', env: { A: 'b' } }],
    };
    const shown = maskMcpConfig(stored);
    expect(JSON.stringify(shown)).not.toMatch(/"k"|"b"/);
    expect(unmaskMcpConfig(shown as typeof stored, stored)).toEqual({ config: stored, lost: [] });
    expect(unmaskMcpConfig({ shttp_servers: [{ url: 'http://new', api_key: '<redacted>' }] }, stored).lost).toEqual([
      'the key of http://new',
    ]);
  });
});

describe('the body of a write', () => {
  it('of V0 holds everything that is stored and readable, with the change', () => {
    const stored = {
      language: 'de',
      llm_api_key: null,
      llm_api_key_set: true,
      sandbox_api_key: null,
      search_api_key: null,
      provider_tokens_set: {},
      secrets_store: {},
      git_user_name: null,
      condenser_max_size: 30,
    };
    expect(v0SettingsBody(stored, new Map<string, JsonValue>([['max_iterations', 7]]))).toEqual({
      language: 'de',
      git_user_name: null,
      condenser_max_size: 30,
      max_iterations: 7,
    });
  });

  it('of V1 puts nested names into the parts that are merged', () => {
    const changes = new Map<string, JsonValue>([
      ['llm_model', 'm'],
      ['agent_settings.llm.num_retries', 2],
      ['max_iterations', 7],
      ['language', null],
    ]);
    expect(v1SettingsBody(changes)).toEqual({
      agent_settings_diff: { llm: { model: 'm', num_retries: 2 } },
      conversation_settings_diff: { max_iterations: 7 },
      language: null,
    });
  });
});
