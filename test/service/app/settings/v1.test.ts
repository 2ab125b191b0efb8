import { describe, expect, it } from 'vitest';
import { emptySettings, type StoredSettings } from '../../../../src/service/app/settings/record.ts';
import type { JsonObject } from '../../../../src/service/app/settings/json.ts';
import { mergedV1, shownAsUser, shownV1 } from '../../../../src/service/app/settings/v1.ts';

const around = { providers: { github: null }, profiles: {}, now: '2026-01-01T00:00:00Z' };

function merged(given: JsonObject, before: StoredSettings = emptySettings()): StoredSettings {
  const result = mergedV1(before, given);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result.settings;
}

describe('a change of the settings of V1', () => {
  const before: StoredSettings = {
    plain: { language: 'de', disabled_skills: ['a'], user_consents_to_analytics: true },
    agent: { llm: { model: 'm', api_key: 'k' } },
    conversation: { max_iterations: 5 },
    mcp: [],
  };

  it('keeps what it does not name, and clears by null or an empty text', () => {
    const copy = structuredClone(before);
    expect(merged({}, before)).toEqual(before);
    expect(merged({ language: '', disabled_skills: null, user_consents_to_analytics: null }, before).plain).toEqual({
      disabled_skills: ['a'],
      user_consents_to_analytics: true,
    });
    expect(merged({ agent_settings_diff: { llm: { api_key: '', model: null } } }, before).agent).toEqual({ llm: {} });
    expect(merged({ agent_settings_diff: { llm: null } }, before).agent).toEqual({});
    expect(before).toEqual(copy);
  });

  it('keeps a key that is sent back as its mask', () => {
    const diff = { llm: { api_key: '**********', model: 'n' } };
    expect(merged({ agent_settings_diff: diff }, before).agent).toEqual({ llm: { model: 'n', api_key: 'k' } });
  });

  it.each<[JsonObject, object]>([
    [{ conversation_settings: {} }, { status: 422, keys: ['conversation_settings'] }],
    [{ email_verified: 'perhaps' }, { status: 422, detail: [{ loc: ['body', 'email_verified'] }] }],
    [{ agent_settings_diff: [] }, { status: 400, error: expect.stringContaining('valid dictionary') }],
    [{ agent_settings_diff: { agent_kind: 'acp' } }, { status: 400, error: expect.stringContaining('only agents') }],
    [{ agent_settings_diff: { agent_kind: 'x' } }, { status: 400, error: expect.stringContaining("Input tag 'x'") }],
    [
      { agent_settings_diff: { mcp_config: { x: {} } } },
      { status: 400, error: expect.stringMatching(/^agent_settings_diff\.mcp_config\.x/) },
    ],
    [
      { conversation_settings_diff: { max_iterations: 0 } },
      { status: 400, error: expect.stringMatching(/^conversation_settings_diff\.max_iterations\n/) },
    ],
  ])('is refused: %j', (given, refusal) => {
    expect(mergedV1(before, { language: 'fr', ...given })).toMatchObject({ ok: false, ...refusal });
    expect(before.plain.language).toBe('de');
  });
});

describe('the settings that V1 shows', () => {
  const settings = merged({
    search_api_key: 'secret-1',
    agent_settings_diff: { llm: { api_key: 'secret-2' }, mcp_config: { x: { command: 'x', env: { T: 'secret-3' } } } },
  });

  it('have defaults, and null in place of each secret', () => {
    const shown = shownV1(settings, around);
    expect(shown).toMatchObject({
      search_api_key: null,
      search_api_key_set: true,
      llm_api_key_set: true,
      provider_tokens_set: { github: null },
      agent_settings: { agent_kind: 'openhands', llm: { api_key: null, timeout: 300 } },
      conversation_settings: { max_iterations: 500 },
    });
    expect(JSON.stringify([shown, shownAsUser(settings, around)])).not.toContain('secret-');
  });

  it('have a mask in place of a key where they are shown as the user', () => {
    expect(shownAsUser(settings, around)).toMatchObject({
      id: null,
      agent_settings: { llm: { api_key: '**********' } },
    });
  });

  it('have no analyzer where V0 stored one that V1 does not know', () => {
    const conversation = { security_analyzer: 'invariant' };
    expect(shownV1({ ...settings, conversation }, around)).toMatchObject({
      conversation_settings: { security_analyzer: null },
    });
  });
});
