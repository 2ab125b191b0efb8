/** Text of a command line or a file as a typed value of a settings field. */
import { maskMcpConfig } from '../../domain/mcp-config.ts';
import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import { holdsMask, isEqual } from '../../domain/settings-diff.ts';
import { checkSettingsValue, readSettingsText } from '../../domain/settings-fields.ts';
import { placeInJson } from '../../text/json-place.ts';

export type Parsed = { ok: true; value: JsonValue } | { ok: false; problem: string };

/** Reads a text as the type of the field and checks it. The problem never repeats a value: it may be a secret. */
export function parseSettingsText(field: SettingsField, text: string): Parsed {
  if (field.type !== 'object' && field.type !== 'array') return checkedValue(field, readSettingsText(field, text));
  try {
    return checkedValue(field, JSON.parse(text) as JsonValue);
  } catch (error) {
    return { ok: false, problem: `is not valid JSON${placeOf(error, text)}` };
  }
}

/** Checks a value that has a type already, from a JSON file. */
export function checkedValue(field: SettingsField, value: JsonValue): Parsed {
  // mcp_config may be masked in part: what is stored is put back there.
  if (field.name !== 'mcp_config' && holdsMask(value)) {
    return { ok: false, problem: 'is masked; a masked value is not written' };
  }
  const problem = checkSettingsValue(field, value);
  return problem === null ? { ok: true, value } : { ok: false, problem };
}

/** Whether a value holds what may not be on a command line, where other users and the shell's history see it. */
export function holdsSecret(field: SettingsField, value: JsonValue): boolean {
  if (field.name === 'secrets_store') return holdsText(value);
  if (field.secret) return value !== null && value !== '';
  return field.name === 'mcp_config' && !isEqual(maskMcpConfig(value), value);
}

function holdsText(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' && value !== '';
  return Object.values(value).some(holdsText);
}

/** Line and column of a mistake; the engine's own message quotes the text, which may be a secret. */
export function placeOf(error: unknown, text: string): string {
  const place = placeInJson(text, error instanceof Error ? error.message : '');
  return place === null ? '' : ` at ${place}`;
}
