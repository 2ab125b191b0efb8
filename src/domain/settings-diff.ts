import { isDeepStrictEqual } from 'node:util';
import { isMasked, maskMcpConfig, MCP_CONFIG, mcpServers } from './mcp-config.ts';
import {
  isJsonObject,
  type JsonObject,
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
  value: JsonValue;
  before: string;
  after: string;
}

/** How a setting is read, compared and printed. `target`: what the server returns for a value. */
interface Comparison {
  current(snapshot: SettingsSnapshot, field: SettingsField): JsonValue;
  target(value: JsonValue): JsonValue;
  isSame(current: JsonValue, target: JsonValue): boolean;
  isStored(current: JsonValue, target: JsonValue): boolean;
  text(value: JsonValue): string;
}

const VALUE: Comparison = {
  current: currentValue,
  target: (value) => value,
  isSame: hasAll,
  isStored: hasAll,
  text: shownValue,
};

const SECRET: Comparison = {
  current: ({ secrets }, { name }) => secrets[name] ?? 'unknown',
  target: (value) => (isEmpty(value) ? 'unset' : 'set'),
  isSame: (state, target) => state === 'unset' && target === 'unset',
  isStored: (state, target) => state === 'unknown' || state === target,
  text: (state) => `(${String(state)})`,
};

const MCP: Comparison = {
  current: currentValue,
  target: (value) => value,
  isSame: (current, target) => isDeepStrictEqual(withoutEmpty(current), withoutEmpty(target)),
  // The secrets of MCP servers are returned masked, or not at all.
  isStored: (current, target) => isDeepStrictEqual(serverNames(current), serverNames(target)),
  text: (value) => shownValue(maskMcpConfig(value)),
};

function comparisonOf({ name, secret }: SettingsField): Comparison {
  if (secret) return SECRET;
  return name === MCP_CONFIG ? MCP : VALUE;
}

export function differencesOf(
  snapshot: SettingsSnapshot,
  { set, unset }: RequestedSettings,
): Difference[] {
  const defaultOf = (field: SettingsField) => (field.secret ? null : field.default);
  const changes = [
    ...[...set].map(([field, value]) => ({ field, effect: 'set' as const, value })),
    ...unset.map((field) => ({ field, effect: 'unset' as const, value: defaultOf(field) })),
  ];
  return changes.flatMap((change): Difference[] => {
    const { field, effect, value } = change;
    const comparison = comparisonOf(field);
    const current = comparison.current(snapshot, field);
    const target = comparison.target(value);
    const isUnset = effect === 'unset' && field.nullable && current === null;
    if (isUnset || comparison.isSame(current, target)) return [];
    const before = comparison.text(current);
    const text = comparison.text(target);
    const after = before === text ? '(changed)' : text;
    // A server returns the default or null for a setting that was unset: both are shown.
    const isDefault = effect === 'unset' && value !== null;
    return [{ ...change, before, after: isDefault ? `(unset, so ${after})` : after }];
  });
}

export function unstoredOf(
  after: SettingsSnapshot,
  before: SettingsSnapshot,
  written: readonly Difference[],
): string[] {
  return written.flatMap(({ field, effect, value }) => {
    const { current, target, isStored, text } = comparisonOf(field);
    const stored = current(after, field);
    const isCleared =
      effect === 'unset' && (stored === null || !isDeepStrictEqual(stored, current(before, field)));
    return isCleared || isStored(stored, target(value))
      ? []
      : [`${field.name} is ${text(stored)}, not ${text(target(value))}`];
  });
}

/** The effective value: a field that the server does not list has its default. */
export function currentValue({ values }: SettingsSnapshot, field: SettingsField): JsonValue {
  return values[field.name] ?? (Object.hasOwn(values, field.name) ? null : field.default);
}

export function settingsRecord(
  snapshot: SettingsSnapshot,
  fields: readonly SettingsField[],
): Record<string, JsonValue> {
  const shown = (field: SettingsField): JsonValue => {
    if (!field.secret) return currentValue(snapshot, field);
    return snapshot.secrets[field.name] === 'set' ? '(set)' : null;
  };
  return Object.fromEntries(fields.map((field) => [field.name, shown(field)]));
}

export function isDefault(value: JsonValue, field: SettingsField): boolean {
  return isEmpty(value) || isDeepStrictEqual(withoutEmpty(value), withoutEmpty(field.default));
}

export function hasMask(value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasMask);
  return isMasked(value) || /^\((?:set|changed|unset|unknown)\)$/.test(String(value));
}

function shownValue(value: JsonValue): string {
  if (value === null) return '(unset)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function serverNames(config: JsonValue): string[] {
  return [...mcpServers(config).keys()].sort();
}

function isEmpty(value: JsonValue): boolean {
  return value === null || value === '';
}

/** A server may add members of its own to an object. */
function hasAll(stored: JsonValue, target: JsonValue): boolean {
  if (isEmpty(target)) return isEmpty(stored);
  if (typeof target !== 'object' || typeof stored !== 'object' || target === null)
    return stored === target;
  if (stored === null || Array.isArray(stored) !== Array.isArray(target)) return false;
  if (Array.isArray(stored) && Object.keys(target).length !== stored.length) return false;
  const members = stored as JsonObject;
  return Object.entries(target).every(([name, value]) => hasAll(members[name] ?? null, value));
}

/** A member that is left out and an empty one are the same configuration. */
function withoutEmpty(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    const rest = withoutEmpty(member);
    const isNothing = rest === null || (Array.isArray(rest) && rest.length === 0);
    return isNothing ? [] : [[name, rest]];
  });
  return members.length === 0 ? null : Object.fromEntries(members);
}
