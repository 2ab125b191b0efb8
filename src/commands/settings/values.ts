import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import { maskMcpConfig, MCP_CONFIG } from '../../domain/mcp-config.ts';
import { hasMask } from '../../domain/settings-diff.ts';
import {
  checkSettingsValue,
  SETTINGS_FIELDS,
  V0_FIELDS,
  V1_FIELDS,
} from '../../domain/settings-fields.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsField,
} from '../../domain/settings.ts';
import { mapStrings } from '../../output/json.ts';
import { positionInJson } from '../../base/text/json-position.ts';
import { redactPatterns } from '../../base/text/redact.ts';
import { promptForSecret, readText } from '../shared/files.ts';
import { cut } from '../../base/text/well-formed.ts';

/** Takes its name, or its path in V1: `agent_settings.llm.model` is `llm_model`. */
export function findField(
  fields: readonly SettingsField[],
  name: string,
): SettingsField | undefined {
  return fields.find((field) => field.name === name || field.path === name);
}

const NESTED = /^(agent|conversation)_settings\.\w/;

/** Throws `unsupported` for a setting of another dialect, `kind` for an unknown name. */
export function requireField(
  fields: readonly SettingsField[],
  name: string,
  kind: 'usage' | 'not-found' = 'usage',
): SettingsField {
  const field = findField(fields, name);
  if (field) return field;
  const hasNested = fields.some((one) => NESTED.test(one.name));
  const isV0 = !hasNested && V1_FIELDS.some((own) => !findField(fields, own.name));
  const ofV1 = findField(V1_FIELDS, name) !== undefined || (isV0 && NESTED.test(name));
  if (ofV1 || findField(V0_FIELDS, name))
    throw new AppError(
      'unsupported',
      `this server has no setting ${name}; ${ofV1 ? 'V1' : 'V0'} servers do`,
    );
  const word = cut(name, 100).toLowerCase();
  const isNear = (known: string): boolean => {
    const shared = [...`${known}\n`].findIndex((letter, at) => letter !== word[at]);
    return (word.length > 2 && known.includes(word)) || shared * 2 > word.length;
  };
  const near = fields.map((one) => one.name).filter(isNear);
  const suggestion = near.length === 0 ? '' : `did you mean ${near.slice(0, 3).join(', ')}? `;
  throw new AppError(kind, `no setting "${name}"`, {
    hint: `${suggestion}see: acs settings schema`,
  });
}

/** `key=value`, `key=@file`, `key=-`; `text` is null for a bare `key`, which is asked for. */
export interface Assignment {
  name: string;
  text: string | null;
}

/** Throws `usage` for what can be refused without the schema of the server. */
export function readAssignments(words: readonly string[], hasFileOnStdin: boolean): Assignment[] {
  const assignments = words.map((word): Assignment => {
    const at = word.indexOf('=');
    return at === -1
      ? { name: word, text: null }
      : { name: word.slice(0, at), text: word.slice(at + 1) };
  });
  for (const [index, { name, text }] of assignments.entries()) {
    if (assignments.findIndex((other) => other.name === name) !== index)
      throw new AppError('usage', `${name} is given twice`);
    const field = findField(SETTINGS_FIELDS, name);
    if (field && text !== null && text !== '-' && !text.startsWith('@')) inlineValue(field, text);
  }
  const readers = assignments.filter(({ text }) => text === '-').length + (hasFileOnStdin ? 1 : 0);
  if (readers > 1)
    throw new AppError('usage', 'two values are read from stdin, which can be read only once');
  return assignments;
}

export async function valuesOf(
  ctx: Context,
  fields: readonly SettingsField[],
  assignments: readonly Assignment[],
): Promise<Map<SettingsField, JsonValue>> {
  const known = assignments.map(({ name, text }) => ({ field: requireField(fields, name), text }));
  const values = new Map<SettingsField, JsonValue>();
  for (const { field, text } of known) {
    if (values.has(field)) throw new AppError('usage', `${field.name} is given twice`);
    const value = await valueOf(ctx, field, text);
    if (field.secret && typeof value === 'string') ctx.terminal.keepSecret(value);
    values.set(field, value);
  }
  return values;
}

async function valueOf(
  ctx: Context,
  field: SettingsField,
  text: string | null,
): Promise<JsonValue> {
  const { name, secret, type } = field;
  if (text === '-') return parseValue(field, await readText(ctx, '-'));
  if (text?.startsWith('@')) return parseValue(field, await readText(ctx, text.slice(1)));
  if (text !== null) return inlineValue(field, text);
  if (!secret || type !== 'string')
    throw new AppError('usage', `${name} has no value`, {
      hint: `write ${name}=<value> or ${name}=@<file>`,
    });
  return parseValue(
    field,
    await promptForSecret(ctx, name, `write ${name}=@<file>, or ${name}=- for stdin`),
  );
}

/** Throws `usage` for a secret: other users and the history of the shell have the command line. */
function inlineValue(field: SettingsField, text: string): JsonValue {
  const { name, type, secret } = field;
  const value = parseValue(field, text);
  const isSecret = secret
    ? value !== null && value !== ''
    : name === MCP_CONFIG && maskMcpConfig(value) !== value;
  if (!isSecret) return value;
  const asked = type === 'string' ? `, ${name}=- for stdin, or ${name} alone to be asked` : '';
  throw new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
    hint: `write ${name}=@<file>${asked || ` or ${name}=- for stdin`}`,
  });
}

/** A string is taken as it is, other types are JSON. Messages never repeat a value. */
function parseValue(field: SettingsField, text: string): JsonValue {
  const { name, type, nullable } = field;
  if (type === 'string') return checkValue(field, text === 'null' && nullable ? null : text);
  let value: JsonValue = text;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    if (type === 'object' || type === 'array')
      throw new AppError('usage', `${name}: is not valid JSON${placeOf(error, text)}`);
  }
  return checkValue(field, value);
}

function checkValue(field: SettingsField, value: JsonValue): JsonValue {
  // The masked parts of mcp_config are restored from what is stored.
  const isMasked = field.name !== MCP_CONFIG && hasMask(value);
  const problem = isMasked
    ? 'is masked; a masked value is not written'
    : checkSettingsValue(field, value);
  if (problem === null) return value;
  throw new AppError('usage', `${field.name}: ${problem}`, {
    hint: `see: acs settings schema ${field.name}`,
  });
}

/** The message of Node quotes the text, which may be a secret. */
function placeOf(error: unknown, text: string): string {
  const position = positionInJson(text, error instanceof Error ? error.message : '');
  return position === null ? '' : ` at ${position}`;
}

/** Throws `usage` for anything but a JSON object. */
export function parseDocument(text: string, source: string): JsonObject {
  let document: JsonValue;
  try {
    document = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new AppError('usage', `${source} is not valid JSON${placeOf(error, text)}`);
  }
  if (isJsonObject(document)) return document;
  throw new AppError('usage', `${source} must contain a JSON object of settings`);
}

/** Read-only members of servers' answers and of acs's own, which a saved document may contain. */
const READ_ONLY = /^(changed|\w+_set)$/;

/** Without masked and null secrets: a printed document can be written back without a loss. */
export function valuesOfDocument(
  fields: readonly SettingsField[],
  document: JsonObject,
  current: JsonObject,
): Map<SettingsField, JsonValue> {
  const values = new Map<SettingsField, JsonValue>();
  for (const [name, value] of membersOf(fields, document, '')) {
    if (READ_ONLY.test(name)) continue;
    const field = requireField(fields, name);
    if (field.secret && (value === null || hasMask(value))) continue;
    const shown = current[field.name] ?? null;
    const isUnchanged = [shown, mapStrings(shown, redactPatterns)].some(
      (same) => JSON.stringify(same) === JSON.stringify(value),
    );
    if (!isUnchanged) values.set(field, checkValue(field, value));
  }
  return values;
}

/** V1 paths may be nested objects. */
function membersOf(
  fields: readonly SettingsField[],
  record: JsonObject,
  prefix: string,
): [string, JsonValue][] {
  return Object.entries(record).flatMap(([member, value]): [string, JsonValue][] => {
    const name = `${prefix}${member}`;
    if (!isJsonObject(value) || Object.keys(value).length === 0 || findField(fields, name))
      return [[name, value]];
    return membersOf(fields, value, `${name}.`);
  });
}
