import { describe, expect, it } from 'vitest';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  typeError,
  withoutSecrets,
  type SettingField,
} from '../../../../src/service/settings/fields.ts';
import type { JsonObject, JsonValue } from '../../../../src/protocol/settings.ts';

const known = [...AGENT_FIELDS, ...CONVERSATION_FIELDS];
const fieldAt = (path: string): SettingField => {
  const found = known.find((each) => each.path === path);
  if (found === undefined) throw new Error(`no field ${path}`);
  return found;
};

describe('a value of a setting', () => {
  it.each<[string, JsonValue, string | null]>([
    ['llm.model', 'openai/small', null],
    ['llm.model', null, null],
    ['llm.model', 5, 'Input should be a valid string'],
    ['llm.num_retries', 0, null],
    ['llm.num_retries', -1, 'Input should be greater than or equal to 0'],
    ['llm.num_retries', 1.5, 'Input should be a valid integer'],
    ['llm.num_retries', 2 ** 53, 'Input should be a valid integer'],
    ['llm.num_retries', '1', 'Input should be a valid integer'],
    ['llm.temperature', 0.5, null],
    ['llm.temperature', true, 'Input should be a valid number'],
    ['llm.litellm_extra_body', {}, null],
    ['llm.litellm_extra_body', [], 'Input should be a valid dictionary'],
    ['tools', [], null],
    ['tools', {}, 'Input should be a valid list'],
    ['condenser.max_size', 19, 'Input should be greater than or equal to 20'],
    ['security_analyzer', 'none', null],
    ['security_analyzer', 'grayswan', "Input should be 'llm' or 'none'"],
  ])('%s = %j: %s', (path, value, problem) => {
    expect(typeError(fieldAt(path), value)).toBe(problem);
  });
});

describe('the table of settings', () => {
  it('has each path once, and a default that it accepts itself', () => {
    expect(new Set(known.map(({ path }) => path)).size).toBe(known.length);
    expect(known.filter((each) => typeError(each, each.default) !== null)).toEqual([]);
  });
});

describe('the secrets of settings', () => {
  const given = {
    llm: {
      model: 'm',
      api_key: 'secret-1',
      aws_session_token: '',
      extra_headers: { Authorization: 'secret-2' },
    },
    verification: { critic_api_key: 'secret-3' },
  };

  it('that are set are hidden or masked, and the given object is not changed', () => {
    const before = structuredClone(given);
    expect(withoutSecrets(AGENT_FIELDS, given, null)).toEqual({
      llm: { model: 'm', api_key: null, aws_session_token: null, extra_headers: null },
      verification: { critic_api_key: null },
    });
    const masked = withoutSecrets(AGENT_FIELDS, given, '**********');
    expect(masked).toMatchObject({ llm: { api_key: '**********', extra_headers: '**********' } });
    expect(JSON.stringify(masked)).not.toContain('secret-');
    expect(given).toEqual(before);
  });

  it('that are not set stay as they are, also where there is no object', () => {
    const objects: JsonObject[] = [{}, { llm: null }, { llm: 'text' }, { llm: { api_key: null } }];
    for (const object of objects) {
      expect(withoutSecrets(AGENT_FIELDS, object, '**********')).toEqual(object);
    }
  });
});
