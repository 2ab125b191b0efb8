/**
 * MCP servers of the settings: the V0 form (three lists, interface 2.3), checked wholly because servers refuse unknown
 * members; and the V1 form (a map of named servers) with the way between the two.
 */
import { shownArguments } from '../text/redact-arguments.ts';
import type { JsonValue, McpConfig } from './settings.ts';

/** Stands for a secret that is set and not shown; never written back. */
export const MASKED = '<redacted>';

type JsonObject = { [key: string]: JsonValue };

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LISTS = ['sse_servers', 'shttp_servers', 'stdio_servers'] as const;

/** What is wrong with it, naming the place; null when it may be sent. */
export function checkMcpConfig(value: JsonValue): string | null {
  if (!isObject(value)) return 'must be an object with sse_servers, shttp_servers, stdio_servers';
  const unknown = Object.keys(value).find((key) => !(LISTS as readonly string[]).includes(key));
  if (unknown !== undefined) return `has no member ${unknown}; it has ${LISTS.join(', ')}`;
  for (const list of LISTS) {
    const servers = value[list] ?? [];
    if (!Array.isArray(servers)) return `${list} must be a list`;
    const seen = new Set<string>();
    for (const [index, server] of servers.entries()) {
      const place = `${list}[${index}]`;
      if (!isObject(server)) return `${place} must be an object`;
      const problem = list === 'stdio_servers' ? checkStdio(server) : checkRemote(server, list);
      if (problem !== null) return `${place}${problem}`;
      const masked = maskedMember(server);
      if (masked !== null) return `${place}.${masked} has ${MASKED} in it, where a secret was: write it in full`;
      const name = String(list === 'stdio_servers' ? server['name'] : server['url']);
      if (seen.has(name)) return `${place} is there twice: ${name}`;
      seen.add(name);
    }
  }
  return null;
}

/** A member that was printed without the secret in it. Keys and values of env are put back from what is stored. */
function maskedMember(server: JsonObject): string | null {
  const holdsMask = (value: JsonValue | undefined): boolean =>
    Array.isArray(value) ? value.some(holdsMask) : typeof value === 'string' && value.includes(MASKED);
  return ['url', 'name', 'command', 'args'].find((name) => holdsMask(server[name])) ?? null;
}

function unknownMember(server: JsonObject, known: readonly string[]): string | null {
  const unknown = Object.keys(server).find((key) => !known.includes(key));
  return unknown === undefined ? null : ` has no member ${unknown}; it has ${known.join(', ')}`;
}

function checkRemote(server: JsonObject, list: 'sse_servers' | 'shttp_servers'): string | null {
  const unknown = unknownMember(server, list === 'sse_servers' ? ['url', 'api_key'] : ['url', 'api_key', 'timeout']);
  if (unknown !== null) return unknown;
  const { url, api_key: key, timeout } = server;
  if (typeof url !== 'string' || !isRemoteUrl(url)) return '.url must be an http, https, ws or wss URL';
  if (key !== undefined && key !== null && typeof key !== 'string') return '.api_key must be a text';
  if (timeout !== undefined && timeout !== null) {
    if (!Number.isSafeInteger(timeout) || Number(timeout) < 1 || Number(timeout) > 3600)
      return '.timeout must be 1 to 3600 seconds';
  }
  return null;
}

function isRemoteUrl(text: string): boolean {
  try {
    return ['http:', 'https:', 'ws:', 'wss:'].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

function checkStdio(server: JsonObject): string | null {
  const unknown = unknownMember(server, ['name', 'command', 'args', 'env']);
  if (unknown !== null) return unknown;
  const { name, command, args = [], env = {} } = server;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]+$/.test(name)) return '.name must be letters, digits, _ and - only';
  if (typeof command !== 'string' || command === '' || /\s/.test(command))
    return '.command must be one word; its arguments go to args';
  if (args !== null && (!Array.isArray(args) || !args.every((item) => typeof item === 'string')))
    return '.args must be a list of texts';
  if (env !== null && (!isObject(env) || !Object.values(env).every((item) => typeof item === 'string')))
    return '.env must be an object of texts';
  return null;
}

/** The V1 map of the same servers; those without a name get one from their kind and place. */
export function mcpToV1(config: McpConfig): JsonObject {
  const servers: JsonObject = {};
  const remote = (list: NonNullable<McpConfig['shttp_servers']>, transport: string, prefix: string): void => {
    for (const [index, { url, api_key: key, timeout }] of list.entries()) {
      servers[freeName(servers, index === 0 ? prefix : `${prefix}_${index}`)] = {
        url,
        transport,
        ...(key ? { headers: { Authorization: `Bearer ${key}` } } : {}),
        ...(timeout === undefined ? {} : { timeout }),
      };
    }
  };
  for (const { name, command, args, env } of config.stdio_servers ?? []) {
    servers[name] = { command, args: args ?? [], ...(env ? { env } : {}) };
  }
  remote(config.sse_servers ?? [], 'sse', 'sse');
  remote(config.shttp_servers ?? [], 'http', 'shttp');
  return servers;
}

function freeName(servers: JsonObject, wanted: string): string {
  let name = wanted;
  for (let index = 1; Object.hasOwn(servers, name); index++) name = `${wanted}_${index}`;
  return name;
}

/** The three lists of a V1 map, as it is read back: a key that is set shows as MASKED. */
export function mcpFromV1(map: JsonValue | undefined): McpConfig {
  const config: Required<McpConfig> = { sse_servers: [], shttp_servers: [], stdio_servers: [] };
  const servers = isObject(map) && isObject(map['mcpServers']) ? map['mcpServers'] : isObject(map) ? map : {};
  for (const [name, server] of Object.entries(servers)) {
    if (!isObject(server)) continue;
    const { url, command, args, env, transport } = server;
    if (typeof command === 'string') {
      config.stdio_servers.push({
        name,
        command,
        args: Array.isArray(args) ? args.filter((item) => typeof item === 'string') : [],
        env: isObject(env) ? maskValues(env) : {},
      });
    } else if (typeof url === 'string') {
      const masked = hasKey(server) ? { api_key: MASKED } : {};
      if (transport === 'sse') config.sse_servers.push({ url, ...masked });
      else
        config.shttp_servers.push({
          url,
          ...masked,
          ...(typeof server['timeout'] === 'number' ? { timeout: server['timeout'] } : {}),
        });
    }
  }
  return config;
}

function hasKey(server: JsonObject): boolean {
  if (isObject(server['auth']) && server['auth']['strategy'] !== 'none') return true;
  return isObject(server['headers']) && Object.keys(server['headers']).length > 0;
}

function maskValues(env: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, MASKED]));
}

/** The same config with its keys, environment values and the secrets in arguments masked: fit to be shown. */
export function maskMcpConfig(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const mask = (server: JsonValue): JsonValue => {
    if (!isObject(server)) return server;
    const masked: JsonObject = { ...server };
    if (typeof masked['api_key'] === 'string' && masked['api_key'] !== '') masked['api_key'] = MASKED;
    if (isObject(masked['env'])) masked['env'] = maskValues(masked['env']);
    const args = masked['args'];
    if (Array.isArray(args)) {
      const shown = shownArguments(args);
      masked['args'] = args.map((arg, index) => shown[index] ?? arg);
    }
    return masked;
  };
  return Object.fromEntries(
    Object.entries(value).map(([list, servers]) => [list, Array.isArray(servers) ? servers.map(mask) : servers]),
  );
}

/**
 * A config that may hold MASKED, with each of them put back from what is stored (matched by url or name). `lost` names
 * the places for which nothing is stored in clear.
 */
export function unmaskMcpConfig(wanted: McpConfig, stored: McpConfig): { config: McpConfig; lost: string[] } {
  const lost: string[] = [];
  const restore = (
    value: string | null | undefined,
    known: string | null | undefined,
    place: string,
  ): string | null | undefined => {
    if (!isMasked(value)) return value;
    if (known !== undefined && known !== null && !isMasked(known)) return known;
    lost.push(place);
    return null;
  };
  const remote = <T extends { url: string; api_key?: string | null }>(
    list: T[] | undefined,
    known: T[] | undefined,
  ): T[] | undefined =>
    list?.map((server) => {
      const twin = known?.find((one) => one.url === server.url);
      const key = restore(server.api_key, twin?.api_key, `the key of ${server.url}`);
      return key === undefined ? server : { ...server, api_key: key };
    });
  const stdio = wanted.stdio_servers?.map((server) => {
    const twin = stored.stdio_servers?.find((one) => one.name === server.name);
    const entries = Object.entries(server.env ?? {}).map(([name, value]) => [
      name,
      restore(value, twin?.env?.[name], `${name} of ${server.name}`),
    ]);
    return server.env === undefined
      ? server
      : {
          ...server,
          env: Object.fromEntries(entries.filter(([, value]) => typeof value === 'string')) as Record<string, string>,
        };
  });
  const config: McpConfig = {};
  const sse = remote(wanted.sse_servers, stored.sse_servers);
  const shttp = remote(wanted.shttp_servers, stored.shttp_servers);
  if (sse !== undefined) config.sse_servers = sse;
  if (shttp !== undefined) config.shttp_servers = shttp;
  if (stdio !== undefined) config.stdio_servers = stdio;
  return { config, lost };
}

/** What acs and servers write in place of a secret. */
export function isMasked(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && (value === MASKED || value === '***' || /^\*{6,}$/.test(value));
}
