/** The settings that `acs settings` lists, with checks: V1 may store a wrong type with 200. */
import { IS_OF_TYPE, SETTINGS, type Setting } from '../protocol/settings.ts';
import { checkMcpConfig, checkMcpConfigV1, MCP_CONFIG } from './mcp-config.ts';
import type { JsonValue, SettingsField } from './settings.ts';

const CHECKS: Record<string, (value: JsonValue) => string | null> = {
  llm_base_url: (value) =>
    /^(https?:\/\/[^\s/@]+(\/\S*)?)?$/.test(String(value))
      ? null
      : 'must be an http or https URL without a user name',
  secrets_store: () => 'is changed with acs secret set and acs git-provider set',
};

function fieldsOf(
  servers: readonly Setting['servers'][],
  own: Record<string, Partial<SettingsField>>,
): readonly SettingsField[] {
  return SETTINGS.filter((row) => !row.internal && servers.includes(row.servers)).map((row) => ({
    ...row,
    check: CHECKS[row.name],
    ...own[row.name],
  }));
}

export const V0_FIELDS = fieldsOf(['all', 'V0'], { [MCP_CONFIG]: { check: checkMcpConfig } });

export const V1_FIELDS = fieldsOf(['all', 'newer', 'V1'], {
  security_analyzer: { default: 'llm' },
  [MCP_CONFIG]: { description: 'MCP servers by name', check: checkMcpConfigV1 },
});

/** The names of both dialects; the form of `mcp_config` is not checked. */
export const SETTINGS_FIELDS = fieldsOf(['all', 'V0', 'newer', 'V1'], {});

const WORDS: Record<SettingsField['type'], string> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

export function checkSettingsValue(
  { type, nullable, choices, minimum, check }: SettingsField,
  value: JsonValue,
): string | null {
  if (value === null) return nullable ? null : 'may not be null';
  if (!IS_OF_TYPE[type](value)) return `must be ${WORDS[type]}`;
  if (choices !== null && !choices.includes(String(value)))
    return `must be one of ${choices.join(', ')}`;
  if (minimum !== null && Number(value) < minimum) return `must be at least ${minimum}`;
  return check?.(value) ?? null;
}
