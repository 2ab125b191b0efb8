import { describe, expect, it } from 'vitest';
import { v0SettingsBody, v1SettingsBody } from '../../src/domain/settings-merge.ts';
import type { JsonValue } from '../../src/domain/settings.ts';

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
