import { describe, expect, it } from 'vitest';
import type { SettingsV0 } from '../../../../src/protocol/v0/requests.ts';
import { emptySettings, type StoredSettings } from '../../../../src/service/app/settings/record.ts';
import { replacedV0, shownV0 } from '../../../../src/service/app/settings/v0.ts';

const replaced = (before: StoredSettings, given: object): StoredSettings => replacedV0(before, given as SettingsV0);

describe('the settings of V0', () => {
  it('are nested where V1 nests them', () => {
    const given = { llm_model: 'm', llm_api_key: 'k', max_iterations: 5, condenser_max_size: 30, language: 'de' };
    expect(replaced(emptySettings(), given)).toEqual({
      plain: { language: 'de' },
      agent: { llm: { model: 'm', api_key: 'k' }, condenser: { max_size: 30 } },
      conversation: { max_iterations: 5 },
      mcp: [],
    });
  });

  it('that are missing are reset, except model, keys, consent and what only V1 has', () => {
    const before: StoredSettings = {
      plain: { language: 'de', search_api_key: 's', sandbox_api_key: 'b', git_full_clone: true },
      agent: { agent: 'Mine', llm: { model: 'm', api_key: 'k', timeout: 9 } },
      conversation: { max_iterations: 5 },
      mcp: [{ name: 'x', kind: 'stdio', command: 'x' }],
    };
    const copy = structuredClone(before);
    expect(replaced(before, {})).toMatchObject({
      plain: { search_api_key: 's', git_full_clone: true },
      agent: { llm: { model: 'm', api_key: 'k', timeout: 9 } },
      conversation: {},
      mcp: [],
    });
    const { plain, agent } = replaced(before, { llm_api_key: '', search_api_key: '' });
    expect([plain, agent]).toEqual([{ git_full_clone: true }, { llm: { model: 'm', timeout: 9 }, condenser: {} }]);
    expect(before).toEqual(copy);
  });

  it('are shown flat, with null for each key and whether it is set', () => {
    const settings = replaced(emptySettings(), { llm_api_key: 'k', search_api_key: '', sandbox_api_key: 'b' });
    const shown = shownV0(settings, { github: null });
    expect(shown).toMatchObject({
      llm_api_key: null,
      llm_api_key_set: true,
      search_api_key_set: false,
      sandbox_api_key: null,
      enable_default_condenser: true,
      llm_model: null,
      provider_tokens_set: { github: null },
    });
    expect(shown).not.toHaveProperty('git_full_clone');
    expect(shownV0(replaced(settings, { enable_default_condenser: false }), {})).toMatchObject({
      enable_default_condenser: false,
    });
  });
});
