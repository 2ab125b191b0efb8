/** A whole JSON document of settings, from `--file` or the editor: which fields it sets. */
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../domain/settings.ts';
import { currentValue, isEqual, isShownSecret, shownSecret, shownValue } from '../../domain/settings-diff.ts';
import { flatten, isJsonObject, type JsonObject } from '../../domain/settings-merge.ts';
import { AppError } from '../../errors.ts';
import { mapStrings } from '../../output/json.ts';
import { redactPatterns } from '../../text/redact-patterns.ts';
import { findField, requireField } from './fields.ts';
import { checkedValue, placeOf } from './parse.ts';
import { accepted } from './assignments.ts';

/** Read-only members of servers' answers; a document that was saved from one may contain them. */
const READ_ONLY = new Set([
  'provider_tokens_set',
  'llm_api_key_set',
  'search_api_key_set',
  'sandbox_api_key_set',
  'changed',
]);

/** Throws `usage` for anything but a JSON object. */
export function parseDocument(text: string, source: string): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new AppError('usage', `${source} is not valid JSON${placeOf(error, text)}`);
  }
  if (!isJsonObject(value)) throw new AppError('usage', `${source} must hold a JSON object of settings`);
  return value;
}

/**
 * The fields a document sets. What it holds as `settings get` prints it stays as it is, and so does a secret that is
 * masked or null there: a printed document can be given back without losing a key; `settings unset` clears one.
 */
export function valuesOfDocument(
  fields: readonly SettingsField[],
  document: JsonObject,
  current: JsonObject,
): Map<SettingsField, JsonValue> {
  const values = new Map<SettingsField, JsonValue>();
  for (const [name, value] of Object.entries(document)) {
    if (READ_ONLY.has(name)) continue;
    const isGroup = isJsonObject(value) && !findField(fields, name);
    for (const [member, content] of isGroup ? knownEnds(fields, name, value) : [[name, value] as const]) {
      const field = requireField(fields, member);
      if (field.secret && (content === null || isShownSecret(content))) continue;
      const shown = current[field.name] ?? null;
      if (isEqual(content, shown) || isEqual(content, asPrinted(shown))) continue;
      values.set(field, accepted(field, checkedValue(field, content)));
    }
  }
  return values;
}

/** What is printed has no credentials in its URLs either. */
function asPrinted(value: JsonValue): JsonValue {
  return mapStrings(value, redactPatterns) as JsonValue;
}

/** The ends of a nested document, where a field that is an object itself is one end. */
function knownEnds(fields: readonly SettingsField[], prefix: string, group: JsonObject): [string, JsonValue][] {
  return Object.entries(group).flatMap(([name, value]): [string, JsonValue][] => {
    const path = `${prefix}.${name}`;
    if (!isJsonObject(value) || findField(fields, path)) return [[path, value]];
    const inner = knownEnds(fields, path, value);
    return inner.length > 0 ? inner : flatten(group, prefix);
  });
}

/** All settings under their names: what `get` prints. A secret is `(set)`, or null where it is not set or the server does not report it. */
export function recordOf(snapshot: SettingsSnapshot, fields: readonly SettingsField[]): Record<string, JsonValue> {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      field.secret ? shownSecret(snapshot.secrets[field.name]) : shownValue(field.name, currentValue(snapshot, field)),
    ]),
  );
}
