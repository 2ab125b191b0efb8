/**
 * MCP servers as they are stored, and in the two forms of the dialects. V0 has three lists in which only stdio servers
 * have names; V1 has one map. Both directions keep what the other cannot say.
 */
import type { McpConfigV0 } from '../../../protocol/v0/requests.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

export interface McpEntry {
  name: string;
  kind: 'sse' | 'shttp' | 'stdio';
  url?: string;
  /** Sent as a bearer token. */
  api_key?: string | null;
  timeout?: number | null;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  /** Further members that only V1 has, headers among them. */
  more?: JsonObject;
}

/** What is stored as V0 shows it. Values are in clear: V0 replaces the whole, so a masked one would be lost. */
export function toV0(entries: McpEntry[]): McpConfigV0 | null {
  if (entries.length === 0) return null;
  const of = (kind: McpEntry['kind']): McpEntry[] => entries.filter((entry) => entry.kind === kind);
  return {
    sse_servers: of('sse').map((entry) => ({ url: entry.url ?? '', api_key: entry.api_key ?? null })),
    stdio_servers: of('stdio').map((entry) => ({
      name: entry.name,
      command: entry.command ?? '',
      args: entry.args ?? [],
      env: entry.env ?? {},
    })),
    shttp_servers: of('shttp').map((entry) => ({
      url: entry.url ?? '',
      api_key: entry.api_key ?? null,
      timeout: entry.timeout ?? 60,
    })),
  };
}

/** What V0 sent, as it is stored; a server known by its address keeps its name and what only V1 can say. */
export function fromV0(config: McpConfigV0 | null | undefined, before: McpEntry[]): McpEntry[] {
  if (config == null) return [];
  const taken = new Set<string>();
  const nameFor = (kind: McpEntry['kind'], url: string): McpEntry => {
    const known = before.find((entry) => entry.kind === kind && entry.url === url && !taken.has(entry.name));
    const entry = known ?? { name: freeName(kind, taken, before), kind };
    taken.add(entry.name);
    return entry;
  };
  for (const server of config.stdio_servers) taken.add(server.name);
  return [
    ...config.sse_servers.map((server) => {
      const known = nameFor('sse', server.url);
      return { ...known, url: server.url, api_key: server.api_key ?? null };
    }),
    ...config.stdio_servers.map((server) => ({
      ...before.find((entry) => entry.kind === 'stdio' && entry.name === server.name),
      name: server.name,
      kind: 'stdio' as const,
      command: server.command,
      args: server.args ?? [],
      env: server.env ?? {},
    })),
    ...config.shttp_servers.map((server) => {
      const known = nameFor('shttp', server.url);
      return { ...known, url: server.url, api_key: server.api_key ?? null, timeout: server.timeout ?? 60 };
    }),
  ];
}

function freeName(kind: string, taken: Set<string>, before: McpEntry[]): string {
  const used = new Set([...taken, ...before.map((entry) => entry.name)]);
  for (let number = 1; ; number++) {
    const name = `${kind}-${number}`;
    if (!used.has(name)) return name;
  }
}

/** What is stored as V1 shows it: without tokens, values of headers and of environment variables. */
export function toV1(entries: McpEntry[]): JsonObject {
  return Object.fromEntries(entries.map((entry) => [entry.name, shownV1(entry)]));
}

function shownV1(entry: McpEntry): JsonObject {
  const more: JsonObject = { ...entry.more };
  if (isObject(more.headers)) more.headers = masked(more.headers);
  if (entry.kind === 'stdio') {
    const env = masked(entry.env ?? {});
    return {
      ...more,
      command: entry.command ?? '',
      args: entry.args ?? [],
      ...(Object.keys(env).length > 0 ? { env } : {}),
    };
  }
  return {
    ...more,
    url: entry.url ?? '',
    transport: entry.kind === 'sse' ? 'sse' : 'http',
    ...(entry.timeout == null ? {} : { timeout: entry.timeout }),
    ...(entry.api_key ? { auth: { strategy: 'bearer' } } : {}),
  };
}

/** Shown in place of a secret value; when a client sends it back, the stored value is kept. */
export const MASK = '**********';

function masked(values: Record<string, Json>): JsonObject {
  return Object.fromEntries(Object.keys(values).map((name) => [name, MASK]));
}

/** A map of V1 that is invalid; the message has the place. */
export class McpError extends Error {
  override readonly name = 'McpError';
}

/** What V1 sent, as it is stored: the map itself or one in `mcpServers`. Throws McpError. */
export function fromV1(config: Json, before: McpEntry[]): McpEntry[] {
  if (config === null) return [];
  if (!isObject(config)) throw new McpError('mcp_config: Input should be a valid dictionary');
  const map = isObject(config.mcpServers) ? config.mcpServers : config;
  return Object.entries(map).map(([name, server]) => {
    if (!isObject(server)) throw new McpError(`mcp_config.${name}: Input should be a valid dictionary`);
    const known = before.find((entry) => entry.name === name);
    return typeof server.command === 'string' ? stdioFrom(name, server, known) : remoteFrom(name, server, known);
  });
}

function stdioFrom(name: string, server: JsonObject, known: McpEntry | undefined): McpEntry {
  const { command, args = [], env = {}, ...more } = server;
  if (!Array.isArray(args) || !args.every((word) => typeof word === 'string')) {
    throw new McpError(`mcp_config.${name}.args: Input should be a valid list of strings`);
  }
  const values = textsOf(env, `mcp_config.${name}.env`);
  return {
    name,
    kind: 'stdio',
    command: command as string,
    args,
    env: unmasked(values, known?.env),
    ...rest(more),
  };
}

function remoteFrom(name: string, server: JsonObject, known: McpEntry | undefined): McpEntry {
  const { url, transport, timeout, auth, api_key, headers, ...more } = server;
  if (typeof url !== 'string' || !/^(?:https?|wss?):\/\//i.test(url)) {
    throw new McpError(`mcp_config.${name}: a server needs a command, or a url with http, https, ws or wss`);
  }
  if (timeout != null && typeof timeout !== 'number') {
    throw new McpError(`mcp_config.${name}.timeout: Input should be a valid number`);
  }
  const given = unmasked(
    textsOf(headers ?? {}, `mcp_config.${name}.headers`),
    known?.more?.headers as Record<string, string>,
  );
  const bearer = Object.keys(given).find((header) => header.toLowerCase() === 'authorization');
  const token = bearer === undefined ? null : /^Bearer\s+(.+)$/i.exec(given[bearer] ?? '')?.[1];
  if (bearer !== undefined && token) Reflect.deleteProperty(given, bearer);
  const isKept = isObject(auth) && auth.strategy === 'bearer' && typeof auth.token !== 'string' && known?.url === url;
  const key =
    typeof api_key === 'string' ? api_key : isObject(auth) && typeof auth.token === 'string' ? auth.token : null;
  return {
    name,
    kind: transport === 'sse' ? 'sse' : 'shttp',
    url,
    api_key: key ?? token ?? (isKept ? known.api_key : null) ?? null,
    ...(timeout == null ? {} : { timeout }),
    ...rest(Object.keys(given).length === 0 ? more : { ...more, headers: given }),
  };
}

function rest(more: JsonObject): { more?: JsonObject } {
  return Object.keys(more).length === 0 ? {} : { more };
}

function textsOf(value: Json, place: string): Record<string, string> {
  if (!isObject(value) || !Object.values(value).every((item) => typeof item === 'string')) {
    throw new McpError(`${place}: Input should be a valid dictionary of strings`);
  }
  return value as Record<string, string>;
}

function unmasked(values: Record<string, string>, known: Record<string, string> | undefined): Record<string, string> {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([name, value]) => [name, value === MASK ? (known?.[name] ?? '') : value]));
}
