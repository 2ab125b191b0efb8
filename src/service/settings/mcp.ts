/**
 * V0 has three lists in which only stdio servers have names; a change keeps what only the other
 * dialect has.
 */
import type { McpConfigV0 } from '../../protocol/v0/requests.ts';
import { HttpError } from '../http/answer.ts';
import { isObject, MASK, type Json, type JsonObject } from './fields.ts';

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

/**
 * What is stored as V0 shows it. Values are in clear: V0 replaces the whole, so a masked one would
 * be lost.
 */
export function toV0(entries: McpEntry[]): McpConfigV0 | null {
  if (entries.length === 0) return null;
  const of = (kind: McpEntry['kind']): McpEntry[] => entries.filter((entry) => entry.kind === kind);
  return {
    sse_servers: of('sse').map(({ url = '', api_key = null }) => ({ url, api_key })),
    stdio_servers: of('stdio').map(({ name, command = '', args = [], env = {} }) => ({
      name,
      command,
      args,
      env,
    })),
    shttp_servers: of('shttp').map(({ url = '', api_key = null, timeout }) => ({
      url,
      api_key,
      timeout: timeout ?? 60,
    })),
  };
}

/**
 * What V0 sent, as it is stored; a server with a stored address or name keeps its name and what
 * only V1 has.
 */
export function fromV0(config: McpConfigV0 | null | undefined, before: McpEntry[]): McpEntry[] {
  if (config == null) return [];
  const { sse_servers, stdio_servers, shttp_servers } = config;
  const taken = new Set(stdio_servers.map(({ name }) => name));
  const named = (kind: McpEntry['kind'], url: string): McpEntry => {
    const known = before.find(
      (entry) => entry.kind === kind && entry.url === url && !taken.has(entry.name),
    );
    const used = new Set([...taken, ...before.map(({ name }) => name)]);
    let number = 1;
    while (used.has(`${kind}-${number}`)) number++;
    const entry = known ?? { name: `${kind}-${number}`, kind };
    taken.add(entry.name);
    return entry;
  };
  const stdio = stdio_servers.map(({ name, command, args, env }) => {
    const known = before.find((entry) => entry.kind === 'stdio' && entry.name === name);
    return { ...known, name, kind: 'stdio' as const, command, args: args ?? [], env: env ?? {} };
  });
  const sse = sse_servers.map(({ url, api_key = null }) => ({
    ...named('sse', url),
    url,
    api_key,
  }));
  const shttp = shttp_servers.map(({ timeout, ...same }) => ({
    ...named('shttp', same.url),
    api_key: null,
    ...same,
    timeout: timeout ?? 60,
  }));
  return [...sse, ...stdio, ...shttp];
}

export function toV1(entries: McpEntry[], showsSecrets = false): JsonObject {
  const shownValues = (values: object): JsonObject =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, showsSecrets ? (value as Json) : MASK]),
    );
  const shown = ({
    kind,
    more,
    url = '',
    api_key,
    timeout,
    command = '',
    args = [],
    env = {},
  }: McpEntry) => ({
    ...more,
    ...(isObject(more?.headers) ? { headers: shownValues(more.headers) } : {}),
    ...(kind === 'stdio'
      ? { command, args, ...(Object.keys(env).length > 0 ? { env: shownValues(env) } : {}) }
      : {
          url,
          transport: kind === 'sse' ? 'sse' : 'http',
          ...(timeout == null ? {} : { timeout }),
          ...(api_key
            ? { auth: { strategy: 'bearer', ...(showsSecrets ? { value: api_key } : {}) } }
            : {}),
        }),
  });
  return Object.fromEntries(entries.map((entry) => [entry.name, shown(entry)]));
}

/** For an agent, with the secrets, in the form of `mcpServers` of openhands-sdk. */
export function toAgent(entries: McpEntry[]): JsonObject {
  const server = ({
    kind,
    more,
    url = '',
    api_key,
    timeout,
    command = '',
    args = [],
    env = {},
  }: McpEntry) => {
    if (kind === 'stdio') return { ...more, command, args, env };
    const headers = isObject(more?.headers) ? more.headers : {};
    return {
      ...more,
      url,
      transport: kind === 'sse' ? 'sse' : 'http',
      ...(timeout == null ? {} : { timeout }),
      headers: { ...headers, ...(api_key ? { Authorization: `Bearer ${api_key}` } : {}) },
    };
  };
  return Object.fromEntries(entries.map((entry) => [entry.name, server(entry)]));
}

/**
 * `config`: the map itself or one in `mcpServers`. A masked value keeps the stored one. Throws
 * HttpError 400.
 */
export function fromV1(config: Json, before: McpEntry[]): McpEntry[] {
  if (config === null) return [];
  if (!isObject(config)) throw refused('', 'Input should be a valid dictionary');
  return Object.entries(isObject(config.mcpServers) ? config.mcpServers : config).map(
    ([name, server]) => {
      if (!isObject(server)) throw refused(`.${name}`, 'Input should be a valid dictionary');
      const known = before.find((entry) => entry.name === name);
      if (typeof server.command === 'string') {
        const { command: _command, args = [], env = {}, ...more } = server;
        if (!Array.isArray(args) || !args.every((word) => typeof word === 'string')) {
          throw refused(`.${name}.args`, 'Input should be a valid list of strings');
        }
        const values = textsOf(env, known?.env, `.${name}.env`);
        return {
          name,
          kind: 'stdio' as const,
          command: server.command,
          args,
          env: values,
          ...rest(more),
        };
      }
      const { url, transport, timeout, auth, api_key, headers, ...more } = server;
      if (typeof url !== 'string' || !/^(?:https?|wss?):\/\//i.test(url)) {
        throw refused(`.${name}`, 'a server needs a command, or a url with http, https, ws or wss');
      }
      if (timeout != null && typeof timeout !== 'number') {
        throw refused(`.${name}.timeout`, 'Input should be a valid number');
      }
      const given = textsOf(headers ?? {}, known?.more?.headers, `.${name}.headers`);
      const bearer = Object.keys(given).find((header) => /^authorization$/i.test(header)) ?? '';
      const [, inHeader = null] = /^Bearer\s+(.+)$/i.exec(given[bearer] ?? '') ?? [];
      if (inHeader !== null) Reflect.deleteProperty(given, bearer);
      const token = isObject(auth) && auth.value !== MASK ? (auth.token ?? auth.value) : undefined;
      // A stored token is not sent to another address.
      const stored =
        isObject(auth) && auth.strategy === 'bearer' && known?.url === url ? known.api_key : null;
      const key =
        [api_key, token, inHeader, stored].find((each) => typeof each === 'string') ?? null;
      const kind = transport === 'sse' ? ('sse' as const) : ('shttp' as const);
      const further = Object.keys(given).length === 0 ? more : { ...more, headers: given };
      return {
        name,
        kind,
        url,
        api_key: key,
        ...(timeout == null ? {} : { timeout }),
        ...rest(further),
      };
    },
  );
}

function rest(more: JsonObject): { more?: JsonObject } {
  return Object.keys(more).length === 0 ? {} : { more };
}

function textsOf(values: Json, known: Json | undefined, member: string): Record<string, string> {
  if (!isObject(values)) throw refused(member, 'Input should be a valid dictionary of strings');
  const stored = isObject(known) ? known : {};
  const entries = Object.entries(values).map(([name, value]): [string, string] => {
    if (typeof value !== 'string')
      throw refused(member, 'Input should be a valid dictionary of strings');
    return [name, value === MASK ? String(stored[name] ?? '') : value];
  });
  return Object.fromEntries(entries);
}

function refused(member: string, why: string): HttpError {
  return new HttpError(400, { error: `agent_settings_diff.mcp_config${member}: ${why}` });
}
