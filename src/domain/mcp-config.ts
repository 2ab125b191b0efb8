/**
 * MCP servers in the settings. V0 has three lists (interface 2.3), V1 a map of servers by name;
 * neither is translated.
 */
import { memberRedaction } from '../base/text/redact.ts';
import { REDACTED } from '../base/text/secret-names.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './settings.ts';

const LISTS = ['sse_servers', 'shttp_servers', 'stdio_servers'] as const;
const MEMBERS = {
  sse_servers: ['url', 'api_key'],
  shttp_servers: ['url', 'api_key', 'timeout'],
  stdio_servers: ['name', 'command', 'args', 'env'],
};

/** Null when it may be sent. V0 refuses unknown members. */
export function checkMcpConfig(value: JsonValue): string | null {
  if (!isJsonObject(value)) return `must be an object with ${LISTS.join(', ')}`;
  const unknown = Object.keys(value).find((key) => !(LISTS as readonly string[]).includes(key));
  if (unknown !== undefined) return `has no member ${unknown}; V0 servers have ${LISTS.join(', ')}`;
  for (const list of LISTS) {
    const servers = value[list] ?? [];
    if (!Array.isArray(servers)) return `${list} must be a list`;
    const seen = new Set<string>();
    for (const [index, server] of servers.entries()) {
      const at = `${list}[${index}]`;
      if (!isJsonObject(server)) return `${at} must be an object`;
      const other = Object.keys(server).find((key) => !MEMBERS[list].includes(key));
      if (other !== undefined)
        return `${at} has no member ${other}; it has ${MEMBERS[list].join(', ')}`;
      const problem =
        (list === 'stdio_servers' ? checkStdio(server) : checkRemote(server)) ?? checkMask(server);
      if (problem !== null) return `${at}${problem}`;
      const name = nameOf(server);
      if (seen.has(name)) return `${at} repeats ${name}`;
      seen.add(name);
    }
  }
  return null;
}

export function checkMcpConfigV1(value: JsonValue): string | null {
  const form = '{"<name>": {"url": "https://…"}} or {"<name>": {"command": "…", "args": […]}}';
  if (!isJsonObject(value)) return `must be an object of servers by name: ${form}`;
  if (LISTS.some((list) => list in value))
    return `has the form of V0 servers; this server has ${form}`;
  for (const [name, server] of Object.entries(
    isJsonObject(value['mcpServers']) ? value['mcpServers'] : value,
  )) {
    if (!isJsonObject(server)) return `${name} must be an object: ${form}`;
    const problem =
      (typeof server['command'] === 'string' ? null : checkRemote(server)) ?? checkMask(server);
    if (problem !== null) return `${name}${problem}`;
  }
  return null;
}

/**
 * Masks of keys, headers and environment values are restored from what is stored; these are not.
 */
function checkMask(server: JsonObject): string | null {
  const masked = ['url', 'command', 'args'].find((name) =>
    [server[name]].flat().some((text) => typeof text === 'string' && text.includes(REDACTED)),
  );
  return masked === undefined
    ? null
    : `.${masked} contains ${REDACTED} in place of a secret: write it in full`;
}

function checkRemote({ url, api_key: key, timeout = null }: JsonObject): string | null {
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : '';
  if (!/^(http|ws)s?:$/.test(protocol)) return '.url must be an http, https, ws or wss URL';
  if (typeof (key ?? '') !== 'string') return '.api_key must be a text';
  const isTimeout =
    timeout === null ||
    (Number.isSafeInteger(timeout) && Number(timeout) >= 1 && Number(timeout) <= 3600);
  return isTimeout ? null : '.timeout must be 1 to 3600 seconds';
}

function checkStdio({ name, command, args, env }: JsonObject): string | null {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]+$/.test(name))
    return '.name must be letters, digits, _ and - only';
  if (typeof command !== 'string' || !/^\S+$/.test(command))
    return '.command must be one word; its arguments go to args';
  const isText = (value: JsonValue): boolean => typeof value === 'string';
  if (!Array.isArray(args ?? []) || !((args ?? []) as JsonValue[]).every(isText))
    return '.args must be a list of texts';
  if (!isJsonObject(env ?? {}) || !Object.values(env ?? {}).every(isText))
    return '.env must be an object of texts';
  return null;
}

function nameOf(server: JsonObject): string {
  return String(server['url'] ?? server['name']);
}

export function mcpServers(config: JsonValue): Map<string, JsonObject> {
  const servers = new Map<string, JsonObject>();
  mapServers(config, (name, server) => {
    servers.set(name, server);
    return server;
  });
  return servers;
}

function mapServers(
  config: JsonValue,
  change: (name: string, server: JsonObject) => JsonObject,
): JsonObject {
  if (!isJsonObject(config)) return {};
  const members = isJsonObject(config['mcpServers']) ? config['mcpServers'] : config;
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      Array.isArray(value)
        ? value.map((server) => (isJsonObject(server) ? change(nameOf(server), server) : server))
        : isJsonObject(value)
          ? change(name, value)
          : value,
    ]),
  );
}

const redactMembers = memberRedaction((text) => text);

export function maskMcpConfig(value: JsonValue): JsonValue {
  return (redactMembers({ mcp_config: value }) as JsonObject)['mcp_config'] ?? null;
}

/** `lost` names the secrets that are stored and would be lost. */
export function restoreMcpSecrets(
  wanted: JsonValue,
  stored: JsonValue,
): { config: JsonObject; lost: string[] } {
  const known = mcpServers(stored);
  const lost: string[] = [];
  const config = mapServers(wanted, (name, server) => {
    const twin = known.get(name) ?? {};
    const { auth, ...members } = server;
    const hasKey = members['api_key'] || members['headers'] || auth;
    if (isHiddenAuth(twin['auth']) && (isHiddenAuth(auth) || !hasKey))
      lost.push(`the key of ${name}`);
    return {
      ...(restore(members, twin, name, lost) as JsonObject),
      ...(auth === undefined || isHiddenAuth(auth) ? {} : { auth }),
    };
  });
  return { config, lost };
}

/** V1 returns `auth` with its strategy alone. */
function isHiddenAuth(auth: JsonValue | undefined): boolean {
  return (
    isJsonObject(auth) &&
    auth['strategy'] !== 'none' &&
    Object.keys(auth).every((name) => name === 'strategy')
  );
}

function restore(
  value: JsonValue,
  stored: JsonValue | undefined,
  at: string,
  lost: string[],
): JsonValue | undefined {
  if (isMasked(value)) {
    if (stored !== undefined && stored !== null && !isMasked(stored)) return stored;
    lost.push(at);
    return undefined;
  }
  if (!isJsonObject(value)) return value;
  const twin = isJsonObject(stored) ? stored : {};
  for (const [name, member] of Object.entries(twin))
    if (!(name in value) && hasMasked(member)) lost.push(`${at}.${name}`);
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    restore(member, twin[name], `${at}.${name}`, lost),
  ]);
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined)) as JsonObject;
}

function hasMasked(value: JsonValue): boolean {
  return isJsonObject(value) ? Object.values(value).some(hasMasked) : isMasked(value);
}

export function isMasked(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && (value === REDACTED || /^\*{3,}$/.test(value));
}
