/** MCP servers in the settings: V0 has three lists (interface 2.3), V1 a map by name. */
import { memberRedaction } from '../base/text/redact.ts';
import { REDACTED } from '../base/text/secret-names.ts';
import { isJsonObject, type JsonObject, type JsonValue, type McpConfig } from './settings.ts';

/** The one setting that is masked, restored and compared by its members. */
export const MCP_CONFIG = 'mcp_config';

const LISTS = {
  sse_servers: ['url', 'api_key'],
  shttp_servers: ['url', 'api_key', 'timeout'],
  stdio_servers: ['name', 'command', 'args', 'env'],
} as const;
const LIST_NAMES = Object.keys(LISTS) as (keyof typeof LISTS)[];

type IsValid = (value: JsonValue) => boolean;
const isText: IsValid = (value) => typeof value === 'string';
const isLike =
  (pattern: RegExp): IsValid =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const isOptional =
  (isValid: IsValid): IsValid =>
  (value) =>
    value === null || isValid(value);

const MEMBERS: Record<string, [isValid: IsValid, rule: string]> = {
  url: [isLike(/^(http|ws)s?:\/\/[^\s/]/i), 'must be an http, https, ws or wss URL'],
  api_key: [isOptional(isText), 'must be a text'],
  timeout: [
    isOptional((value) => {
      const seconds = Number(value);
      return Number.isSafeInteger(value) && seconds >= 1 && seconds <= 3600;
    }),
    'must be 1 to 3600 seconds',
  ],
  name: [isLike(/^[A-Za-z0-9_-]+$/), 'must be letters, digits, _ and - only'],
  command: [isLike(/^\S+$/), 'must be one word; its arguments go to args'],
  args: [
    isOptional((args) => Array.isArray(args) && args.every(isText)),
    'must be a list of texts',
  ],
  env: [
    isOptional((env) => isJsonObject(env) && Object.values(env).every(isText)),
    'must be an object of texts',
  ],
};

function serverProblem(server: JsonObject, members: readonly string[]): string | null {
  for (const name of members) {
    const [isValid, rule] = MEMBERS[name] ?? [];
    if (isValid?.(server[name] ?? null) === false) return `.${name} ${rule}`;
  }
  // The masks of keys, headers and environment values are replaced by what is stored.
  const masked = ['url', 'command', 'args'].find((name) =>
    [server[name]].flat().some((text) => typeof text === 'string' && text.includes(REDACTED)),
  );
  return masked === undefined
    ? null
    : `.${masked} contains ${REDACTED} in place of a secret: write it in full`;
}

export function checkMcpConfig(value: JsonValue): string | null {
  const lists = LIST_NAMES.join(', ');
  if (!isJsonObject(value)) return `must be an object with ${lists}`;
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(LISTS, key));
  if (unknown !== undefined) return `has no member ${unknown}; V0 servers have ${lists}`;
  const wrong = LIST_NAMES.find((list) => !Array.isArray(value[list] ?? []));
  if (wrong !== undefined) return `${wrong} must be a list`;
  const names = new Set<string>();
  const servers = LIST_NAMES.flatMap((list) =>
    [value[list] ?? []].flat().map((server, index) => ({ list, server, at: `${list}[${index}]` })),
  );
  for (const { list, server, at } of servers) {
    if (!isJsonObject(server)) return `${at} must be an object`;
    const members: readonly string[] = LISTS[list];
    const other = Object.keys(server).find((key) => !members.includes(key));
    if (other !== undefined) return `${at} has no member ${other}; it has ${members.join(', ')}`;
    const problem = serverProblem(server, members);
    if (problem !== null) return at + problem;
    const name = `${list} ${nameOf(server)}`;
    if (names.has(name)) return `${at} repeats ${nameOf(server)}`;
    names.add(name);
  }
  return null;
}

export function checkMcpConfigV1(value: JsonValue): string | null {
  const form = '{"<name>": {"url": "https://…"}} or {"<name>": {"command": "…", "args": […]}}';
  if (!isJsonObject(value)) return `must be an object of servers by name: ${form}`;
  if (LIST_NAMES.some((list) => list in value))
    return `has the form of V0 servers; this server has ${form}`;
  for (const [name, server] of Object.entries(
    isJsonObject(value['mcpServers']) ? value['mcpServers'] : value,
  )) {
    if (!isJsonObject(server)) return `${name} must be an object: ${form}`;
    const members = typeof server['command'] === 'string' ? [] : LISTS.shttp_servers;
    const problem = serverProblem(server, members);
    if (problem !== null) return name + problem;
  }
  return null;
}

/** The form of V1 and of agent servers; V0 takes three lists. */
export function serversByName({ mcpServers, ...lists }: McpConfig): Record<string, unknown> {
  if (mcpServers !== undefined) return mcpServers;
  const remote = (transport: string, servers: McpConfig['shttp_servers'] = []) =>
    servers.map(({ url, api_key, timeout }) => ({
      url,
      transport,
      ...(timeout !== undefined && { timeout }),
      ...(api_key && { headers: { Authorization: `Bearer ${api_key}` } }),
    }));
  const all = [...remote('sse', lists.sse_servers), ...remote('http', lists.shttp_servers)];
  const named = (lists.stdio_servers ?? []).map(({ name, ...server }) => [name, server] as const);
  return Object.fromEntries<unknown>([
    ...all.map((each, index) => [`server${index + 1}`, each] as const),
    ...named,
  ]);
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
    Object.entries(members).map(([name, value]): [string, JsonValue] => {
      if (isJsonObject(value)) return [name, change(name, value)];
      const servers = Array.isArray(value) ? value.filter((server) => isJsonObject(server)) : [];
      return [name, servers.map((server) => change(nameOf(server), server))];
    }),
  );
}

const redactMembers = memberRedaction((text) => text);

export function maskMcpConfig(value: JsonValue): JsonValue {
  return (redactMembers({ [MCP_CONFIG]: value }) as JsonObject)[MCP_CONFIG] ?? null;
}

export interface McpRestored {
  config: JsonObject;
  /** The secrets that a write of the configuration would lose. */
  lost: string[];
}

export function restoreMcpSecrets(wanted: JsonValue, stored: JsonValue): McpRestored {
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

/** For a server that merges: null removes a member, and a secret that is left out is kept. */
export function mcpPatch(wanted: JsonValue, stored: JsonValue): McpRestored {
  const known = mcpServers(stored);
  const lost: string[] = [];
  const config = mapServers(
    wanted,
    (name, server) => restore(server, known.get(name) ?? {}, name, lost, 'merged') as JsonObject,
  );
  const servers = Object.fromEntries(mcpServers(wanted));
  return { config: withRemovals(config, stored, servers), lost };
}

function withRemovals(patch: JsonObject, stored: JsonValue, wanted: JsonValue): JsonObject {
  if (!isJsonObject(stored) || !isJsonObject(wanted)) return patch;
  const result = { ...patch };
  for (const [name, member] of Object.entries(stored)) {
    const value = patch[name];
    if (!(name in wanted)) result[name] = null;
    else if (isJsonObject(value)) result[name] = withRemovals(value, member, wanted[name] ?? null);
  }
  return result;
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
  write: 'replaced' | 'merged' = 'replaced',
): JsonValue | undefined {
  if (isMasked(value)) {
    if (stored !== undefined && stored !== null && !isMasked(stored)) return stored;
    if (write === 'replaced' || !isMasked(stored)) lost.push(at);
    return undefined;
  }
  if (!isJsonObject(value)) return value;
  const twin = isJsonObject(stored) ? stored : {};
  const hidden = Object.keys(twin).filter((name) => !(name in value) && hasMasked(twin[name]));
  lost.push(...hidden.map((name) => `${at}.${name}`));
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    restore(member, twin[name], `${at}.${name}`, lost, write),
  ]);
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined)) as JsonObject;
}

function hasMasked(value: JsonValue | undefined): boolean {
  return isJsonObject(value) ? Object.values(value).some(hasMasked) : isMasked(value);
}

export function isMasked(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && (value === REDACTED || /^\*{3,}$/.test(value));
}
