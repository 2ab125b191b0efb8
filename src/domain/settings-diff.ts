/**
 * Compares requested settings with the stored ones: pure. Only what differs is written, and secrets are shown as
 * `(set)`, `(changed)`, `(unset)`, never as they are.
 */
import { isMasked, maskMcpConfig } from './mcp-config.ts';
import type { JsonValue, McpConfig, SettingsField, SettingsSnapshot } from './settings.ts';

export interface RequestedSettings {
  set: ReadonlyMap<SettingsField, JsonValue>;
  unset: readonly SettingsField[];
}

export interface Difference {
  name: string;
  /** As text for people. */
  before: string;
  after: string;
}

export interface SettingsDifference {
  set: Record<string, JsonValue>;
  unset: string[];
  shown: Difference[];
}

export function differenceOf(snapshot: SettingsSnapshot, requested: RequestedSettings): SettingsDifference {
  const result: SettingsDifference = { set: {}, unset: [], shown: [] };
  for (const [field, value] of requested.set) {
    const shown = field.secret ? secretChange(snapshot, field, value) : plainChange(snapshot, field, value);
    if (shown === null) continue;
    result.set[field.name] = value;
    result.shown.push(shown);
  }
  for (const field of requested.unset) {
    if (!field.secret && field.nullable && currentValue(snapshot, field) === null) continue;
    const shown = field.secret ? secretChange(snapshot, field, null) : unsetting(snapshot, field);
    if (shown === null) continue;
    result.unset.push(field.name);
    result.shown.push(shown);
  }
  return result;
}

/** A setting that a server returns otherwise than it was written. */
export interface Unstored {
  name: string;
  /** As text for people; `(set)` or `(unset)` for a secret. */
  wanted: string;
  found: string;
}

/** Compares what was written with what the server returns afterwards. A secret is compared as set or not set. */
export function unstoredOf(
  after: SettingsSnapshot,
  before: SettingsSnapshot,
  requested: RequestedSettings,
  written: Pick<SettingsDifference, 'set' | 'unset'>,
): Unstored[] {
  const result: Unstored[] = [];
  for (const [field, value] of requested.set) {
    if (!Object.hasOwn(written.set, field.name)) continue;
    if (field.secret) result.push(...unstoredSecret(after, field, value === null || value === '' ? 'unset' : 'set'));
    else {
      const found = currentValue(after, field);
      const isStored = isMcpConfig(field.name) ? namesServers(found, value) : holds(found, value);
      if (!isStored) result.push(unstored(field.name, value, found));
    }
  }
  for (const field of requested.unset) {
    if (!written.unset.includes(field.name)) continue;
    if (field.secret) result.push(...unstoredSecret(after, field, 'unset'));
    else {
      const found = currentValue(after, field);
      const isCleared = found === null || holds(found, field.default) || !isEqual(found, currentValue(before, field));
      if (!isCleared) result.push(unstored(field.name, field.default, found));
    }
  }
  return result;
}

function unstored(name: string, wanted: JsonValue, found: JsonValue): Unstored {
  return { name, wanted: shownText(name, wanted), found: shownText(name, found) };
}

/** The parts of `secrets_store` have no state of their own. */
function unstoredSecret({ secrets }: SettingsSnapshot, { name }: SettingsField, wanted: 'set' | 'unset'): Unstored[] {
  const found = secrets[name];
  const isOther = found !== undefined && found !== 'unknown' && found !== wanted && name !== 'secrets_store';
  return isOther ? [{ name, wanted: `(${wanted})`, found: `(${found})` }] : [];
}

/** Whether the value found has everything that was written: a server may add members of its own. */
function holds(found: JsonValue, wanted: JsonValue): boolean {
  if (wanted === null || wanted === '') return found === null || found === '';
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => holds(found[index] ?? null, value))
    );
  }
  if (typeof wanted !== 'object') return found === wanted;
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return Object.keys(wanted).length === 0;
  return Object.entries(wanted).every(([name, value]) => holds(found[name] ?? null, value));
}

/** Whether both name the same MCP servers: their secrets come back masked, or not at all. */
function namesServers(found: JsonValue, wanted: JsonValue): boolean {
  const names = (config: JsonValue): string => {
    const { sse_servers = [], shttp_servers = [], stdio_servers = [] } = (config ?? {}) as McpConfig;
    return JSON.stringify(
      [...sse_servers, ...shttp_servers].map(({ url }) => url).concat(stdio_servers.map(({ name }) => name)),
    );
  };
  return names(found) === names(wanted);
}

/** The effective value: a field the server does not list has its default. */
export function currentValue(snapshot: SettingsSnapshot, field: SettingsField): JsonValue {
  return snapshot.values[field.name] ?? (Object.hasOwn(snapshot.values, field.name) ? null : field.default);
}

/** What a secret is shown as in a record: null when it is not set, or when the server does not report it. */
export function shownSecret(state: SettingsSnapshot['secrets'][string] | undefined): string | null {
  return state === 'set' ? '(set)' : null;
}

/** The words above and every mask of servers: such a value stands for one that is not there, and is never sent. */
export function isShownSecret(value: JsonValue): boolean {
  return isMasked(value) || ['(set)', '(changed)', '(unset)', '(unknown)'].includes(value as string);
}

/** Whether a mask is anywhere in it. */
export function holdsMask(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return isShownSecret(value);
  return Object.values(value).some(holdsMask);
}

/** A value fit to be shown: the keys inside `mcp_config` are masked. */
export function shownValue(name: string, value: JsonValue): JsonValue {
  return isMcpConfig(name) ? maskMcpConfig(value) : value;
}

function secretChange(snapshot: SettingsSnapshot, { name }: SettingsField, value: JsonValue): Difference | null {
  const state = snapshot.secrets[name];
  const clears = value === null || value === '';
  if (clears && state === 'unset') return null;
  const before = state === 'unset' || state === 'set' ? `(${state})` : '(unknown)';
  if (clears) return { name, before, after: '(unset)' };
  return { name, before, after: state === 'set' ? '(changed)' : '(set)' };
}

function plainChange(snapshot: SettingsSnapshot, field: SettingsField, value: JsonValue): Difference | null {
  const { name } = field;
  const current = currentValue(snapshot, field);
  const isSame = isMcpConfig(name) ? isEqual(compact(current), compact(value)) : isEqual(current, value);
  if (isSame) return null;
  const before = shownText(name, current);
  const after = shownText(name, value);
  return { name, before, after: before === after ? '(changed)' : after };
}

/** A server returns the default or null for a setting that was unset: both are shown. */
function unsetting(snapshot: SettingsSnapshot, field: SettingsField): Difference | null {
  const shown = plainChange(snapshot, field, field.default);
  if (shown === null || field.default === null) return shown;
  return { ...shown, after: `(unset, so ${shown.after})` };
}

function isMcpConfig(name: string): boolean {
  return name === 'mcp_config';
}

function shownText(name: string, value: JsonValue): string {
  if (value === null) return '(unset)';
  const shown = shownValue(name, value);
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}

export function isEqual(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  const [a, b] = [left as Record<string, JsonValue>, right as Record<string, JsonValue>];
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key] ?? null, b[key] ?? null));
}

/** Without what is empty: a list that is left out and an empty one are the same configuration. */
function compact(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, member]) => [key, compact(member)] as const)
    .filter(([, member]) => member !== null && !(typeof member === 'object' && Object.keys(member).length === 0));
  return kept.length === 0 ? null : Object.fromEntries(kept);
}
