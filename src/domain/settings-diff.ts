import { isDeepStrictEqual } from 'node:util';
import { isMasked, maskMcpConfig, mcpServers } from './mcp-config.ts';
import {
  isJsonObject,
  type JsonValue,
  type SettingsField,
  type SettingsSnapshot,
} from './settings.ts';

export interface RequestedSettings {
  set: ReadonlyMap<SettingsField, JsonValue>;
  unset: readonly SettingsField[];
}

export interface Difference {
  field: SettingsField;
  effect: 'set' | 'unset';
  /** Of `unset`: the default; null for a secret. */
  value: JsonValue;
  before: string;
  after: string;
}

export function differencesOf(
  snapshot: SettingsSnapshot,
  { set, unset }: RequestedSettings,
): Difference[] {
  const all = [
    ...[...set].map(([field, value]) => ({ field, effect: 'set' as const, value })),
    ...unset.map((field) => ({
      field,
      effect: 'unset' as const,
      value: field.secret ? null : field.default,
    })),
  ];
  return all.flatMap((change): Difference[] => {
    const { field, effect, value } = change;
    if (field.secret) {
      const state = snapshot.secrets[field.name] ?? 'unknown';
      const isCleared = isEmpty(value);
      if (isCleared && state === 'unset') return [];
      const after = isCleared ? '(unset)' : state === 'set' ? '(changed)' : '(set)';
      return [{ ...change, before: `(${state})`, after }];
    }
    const current = currentValue(snapshot, field);
    if (effect === 'unset' && field.nullable && current === null) return [];
    const isSame =
      field.name === 'mcp_config'
        ? isDeepStrictEqual(withoutEmpty(current), withoutEmpty(value))
        : hasAll(current, value);
    if (isSame) return [];
    const before = textOf(field, current);
    const text = textOf(field, value);
    const after = before === text ? '(changed)' : text;
    // A server returns the default or null for a setting that was unset: both are shown.
    return [
      {
        ...change,
        before,
        after: effect === 'unset' && value !== null ? `(unset, so ${after})` : after,
      },
    ];
  });
}

export function unstoredOf(
  after: SettingsSnapshot,
  before: SettingsSnapshot,
  written: readonly Difference[],
): string[] {
  return written.flatMap(({ field, effect, value }) => {
    const { name, secret } = field;
    if (secret) {
      const wanted = isEmpty(value) ? 'unset' : 'set';
      const found = after.secrets[name] ?? 'unknown';
      return found === 'unknown' || found === wanted
        ? []
        : [`${name} is (${found}), not (${wanted})`];
    }
    const found = currentValue(after, field);
    // The secrets of MCP servers are returned masked, or not at all.
    const isStored =
      name === 'mcp_config'
        ? isDeepStrictEqual(
            [...mcpServers(found).keys()].sort(),
            [...mcpServers(value).keys()].sort(),
          )
        : hasAll(found, value);
    const isCleared =
      effect === 'unset' &&
      (found === null || !isDeepStrictEqual(found, currentValue(before, field)));
    return isStored || isCleared
      ? []
      : [`${name} is ${textOf(field, found)}, not ${textOf(field, value)}`];
  });
}

/** The effective value: a field that the server does not list has its default. */
export function currentValue({ values }: SettingsSnapshot, field: SettingsField): JsonValue {
  return values[field.name] ?? (Object.hasOwn(values, field.name) ? null : field.default);
}

export function recordOf(
  snapshot: SettingsSnapshot,
  fields: readonly SettingsField[],
): Record<string, JsonValue> {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      field.secret
        ? snapshot.secrets[field.name] === 'set'
          ? '(set)'
          : null
        : currentValue(snapshot, field),
    ]),
  );
}

export function hasMask(value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasMask);
  return (
    isMasked(value) || ['(set)', '(changed)', '(unset)', '(unknown)'].includes(value as string)
  );
}

function textOf({ name }: SettingsField, value: JsonValue): string {
  if (value === null) return '(unset)';
  const shown = name === 'mcp_config' ? maskMcpConfig(value) : value;
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}

function isEmpty(value: JsonValue): boolean {
  return value === null || value === '';
}

/** Whether `found` has everything of `wanted`: a server may add members of its own. */
function hasAll(found: JsonValue, wanted: JsonValue): boolean {
  if (isEmpty(wanted)) return isEmpty(found);
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => hasAll(found[index] ?? null, value))
    );
  }
  if (!isJsonObject(wanted)) return found === wanted;
  return (
    isJsonObject(found) &&
    Object.entries(wanted).every(([name, value]) => hasAll(found[name] ?? null, value))
  );
}

/** A member that is left out and an empty one are the same configuration. */
function withoutEmpty(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(
      ([, member]) =>
        member !== null && !(typeof member === 'object' && Object.keys(member).length === 0),
    );
  return members.length === 0 ? null : Object.fromEntries(members);
}
