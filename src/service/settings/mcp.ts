/** MCP servers by name, stored as V1 has them, secrets in clear; a bearer token is `api_key`. */
import * as v from 'valibot';
import { check, list, mapOf, maybe, openRecord, text, textLike } from '../../protocol/detail.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/settings.ts';
import type { McpConfigV0 } from '../../protocol/v0/requests.ts';
import { HttpError } from '../http/answer.ts';
import { MASK, type Mask } from './fields.ts';

export type McpServers = Record<string, JsonObject>;

const SECRET_MAPS = ['headers', 'env'] as const;

function mapSecrets(
  server: JsonObject,
  change: (value: JsonValue, member: (typeof SECRET_MAPS)[number], name: string) => JsonValue,
): JsonObject {
  const changed = { ...server };
  for (const member of SECRET_MAPS) {
    const values = server[member];
    if (!isJsonObject(values)) continue;
    changed[member] = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, change(value, member, name)]),
    );
  }
  return changed;
}

/** In clear: V0 replaces the whole, so a masked value would be lost. */
export function toV0(servers: McpServers): McpConfigV0 | null {
  const all = Object.entries(servers);
  if (all.length === 0) return null;
  const config: McpConfigV0 = { sse_servers: [], stdio_servers: [], shttp_servers: [] };
  for (const [name, server] of all) {
    const { url, transport, api_key = null, timeout, command, args, env } = server as ServerMembers;
    if (url == null)
      config.stdio_servers.push({ name, command: command ?? '', args: args ?? [], env: env ?? {} });
    else if (transport === 'sse') config.sse_servers.push({ url, api_key });
    else config.shttp_servers.push({ url, api_key, timeout: timeout ?? 60 });
  }
  return config;
}

/** A server with a stored URL or name keeps its name and what only V1 has. */
export function fromV0(config: McpConfigV0 | null | undefined, before: McpServers): McpServers {
  const { sse_servers = [], stdio_servers = [], shttp_servers = [] } = config ?? {};
  const after: McpServers = {};
  for (const { name, command, args, env } of stdio_servers)
    after[name] = { ...before[name], command, args: args ?? [], env: env ?? {} };
  const add = (kind: 'sse' | 'shttp', url: string, members: JsonObject): void => {
    const transport = kind === 'sse' ? 'sse' : 'http';
    const stored = Object.entries(before).find(
      ([name, server]) =>
        server.url === url && (server.transport === 'sse') === (kind === 'sse') && !(name in after),
    );
    let number = 1;
    while (`${kind}-${number}` in after || `${kind}-${number}` in before) number++;
    const [name, server] = stored ?? [`${kind}-${number}`, {}];
    after[name] = { ...server, url, transport, ...members };
  };
  for (const { url, api_key = null } of sse_servers) add('sse', url, { api_key });
  for (const { url, api_key = null, timeout } of shttp_servers)
    add('shttp', url, { api_key, timeout: timeout ?? 60 });
  return after;
}

/** A masked token is shown by its strategy alone. */
export function toV1(servers: McpServers, mask: Mask): JsonObject {
  const isMasked = mask !== undefined;
  const shown = ({ api_key: key, ...server }: JsonObject): JsonObject => ({
    ...(isMasked ? mapSecrets(server, () => MASK) : server),
    ...(key && { auth: { strategy: 'bearer', ...(!isMasked && { value: key }) } }),
  });
  return Object.fromEntries(Object.entries(servers).map(([name, one]) => [name, shown(one)]));
}

/** For an agent: with the secrets, and a token as the header in which it is sent. */
export function toAgent(servers: McpServers): McpServers {
  return Object.fromEntries(
    Object.entries(servers).map(([name, { api_key: key, ...server }]) => [
      name,
      typeof key === 'string' && key !== ''
        ? { ...server, headers: { ...(server.headers as object), Authorization: `Bearer ${key}` } }
        : server,
    ]),
  );
}

const texts = maybe(mapOf(text));
const members = {
  command: maybe(text),
  args: maybe(list(text)),
  env: texts,
  url: maybe(textLike(/^(?:https?|wss?):\/\//i)),
  transport: maybe(text),
  headers: texts,
  timeout: maybe(v.number()),
  api_key: maybe(text),
};
type ServerMembers = v.InferOutput<v.ObjectSchema<typeof members, undefined>>;
const serverForm = v.pipe(
  openRecord(members),
  v.check(
    ({ command, url }) => command != null || url != null,
    'a server needs a command, or a url with http, https, ws or wss',
  ),
);
const configForm = mapOf(serverForm);

/** `config`: the map itself or one in `mcpServers`. Throws HttpError 400. */
export function fromV1(config: JsonValue, before: McpServers): McpServers {
  if (config === null) return {};
  const named =
    isJsonObject(config) && isJsonObject(config.mcpServers) ? config.mcpServers : config;
  const result = check(configForm, named, 'body');
  if (!result.ok) {
    const [{ loc, msg } = { loc: [], msg: '' }] = result.detail;
    const place = ['agent_settings_diff.mcp_config', ...loc.slice(1)].join('.');
    throw new HttpError(400, { error: `${place}: ${msg}` });
  }
  return Object.fromEntries(
    Object.entries(result.value as McpServers).map(([name, server]) => [
      name,
      withSecrets(server, before[name] ?? {}),
    ]),
  );
}

/** Masked values are those of the stored server. */
function withSecrets(server: JsonObject, stored: JsonObject): JsonObject {
  const { auth, api_key, headers, ...other } = mapSecrets(server, (value, member, name) => {
    const values = stored[member];
    return value === MASK ? (isJsonObject(values) && values[name]) || '' : value;
  });
  const { strategy, token, value } = isJsonObject(auth) ? auth : {};
  const [inHeader, rest] = splitBearer(isJsonObject(headers) ? headers : {});
  // A stored token is not sent to another address.
  const kept = strategy === 'bearer' && stored.url === server.url ? stored.api_key : null;
  const keys = [api_key, token, value === MASK ? null : value, inHeader, kept];
  const key = keys.find((each) => typeof each === 'string');
  return {
    ...other,
    ...(Object.keys(rest).length > 0 && { headers: rest }),
    ...(key !== undefined && { api_key: key }),
  };
}

/** The bearer token of the headers, which genuine servers show as `auth`, and the other headers. */
function splitBearer(headers: JsonObject): [token: string | null, rest: JsonObject] {
  const name = Object.keys(headers).find((each) => /^authorization$/i.test(each)) ?? '';
  const { [name]: value, ...rest } = headers;
  const token = /^Bearer\s+(.+)$/i.exec(typeof value === 'string' ? value : '')?.[1];
  return token === undefined ? [null, headers] : [token, rest];
}
