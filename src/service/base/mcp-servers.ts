/** The MCP servers of a conversation, in the forms that openhands-sdk 1.58.0 reads. */
import * as v from 'valibot';
import { isSecretName, type NameKind } from '../../base/text/secret-names.ts';
import { isRecord } from '../../protocol/shape.ts';

export interface ProgramServer {
  name: string;
  kind: 'stdio';
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Relative to the working directory of the conversation. */
  cwd: string;
  /** For the list of its tools; null: the default. */
  startSeconds: number | null;
}

export interface WebServer {
  name: string;
  kind: 'http' | 'sse';
  url: string;
  headers: Record<string, string>;
  startSeconds: number | null;
}

export type McpServer = ProgramServer | WebServer;

const texts = v.nullish(v.record(v.string(), v.string()), {});
const text = v.nullish(v.string());
const serverForm = v.object({
  enabled: v.nullish(v.boolean(), true),
  command: text,
  args: v.nullish(v.array(v.string()), []),
  env: texts,
  cwd: v.nullish(v.string(), '.'),
  url: text,
  transport: text,
  type: text,
  headers: texts,
  /** In seconds. */
  timeout: v.nullish(v.number(), null),
  /** A bearer token; a member of the settings alone. */
  api_key: text,
  auth: v.nullish(
    v.union([
      v.string(),
      v.object({
        strategy: v.string(),
        value: text,
        header_name: text,
        username: v.nullish(v.string(), ''),
        password: v.nullish(v.string(), ''),
        headers: texts,
      }),
    ]),
  ),
});
type ServerForm = v.InferOutput<typeof serverForm>;

/** `config`: servers by name, or those in `mcpServers`. `problems`: one sentence for each. */
export function readServers(config: Readonly<Record<string, unknown>>): {
  servers: McpServer[];
  problems: string[];
} {
  const map = isRecord(config['mcpServers']) ? config['mcpServers'] : config;
  const servers: McpServer[] = [];
  const problems: string[] = [];
  for (const [name, given] of Object.entries(map)) {
    const result = v.safeParse(serverForm, given);
    if (!result.success) {
      const [issue] = result.issues;
      problems.push(problem(name, `${v.getDotPath(issue) ?? 'its description'} is not valid`));
    } else if (result.output.enabled) {
      const server = serverOf(name, result.output);
      if (server === null)
        problems.push(problem(name, 'it has no command, and no url with http or https'));
      else servers.push(server);
    }
  }
  return { servers, problems };
}

export function problem(name: string, why: string): string {
  return `The MCP server ${name} is not used: ${why}.`;
}

function serverOf(name: string, form: ServerForm): McpServer | null {
  const { timeout: startSeconds } = form;
  if (form.command) {
    const { command, args, env, cwd } = form;
    return { name, kind: 'stdio', command, args, env, cwd, startSeconds };
  }
  if (!URL.canParse(form.url ?? '')) return null;
  const url = new URL(form.url ?? '');
  if (!/^https?:$/.test(url.protocol)) return null;
  const transport =
    form.transport ?? form.type ?? (/\/sse(?:\/|$)/.test(url.pathname) ? 'sse' : 'http');
  const headers = { ...form.headers, ...bearer(form.api_key), ...authHeaders(form.auth) };
  const kind = transport === 'sse' ? 'sse' : 'http';
  return { name, kind, url: url.href, headers, startSeconds };
}

function bearer(token: string | null | undefined): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

function authHeaders(auth: ServerForm['auth']): Record<string, string> {
  if (auth == null || auth === 'oauth') return {};
  if (typeof auth === 'string') return bearer(auth);
  const { strategy, value, header_name: header, username, password, headers } = auth;
  if (strategy === 'header') return headers;
  if (strategy === 'basic') {
    const credentials = Buffer.from(`${username}:${password}`).toString('base64');
    return { Authorization: `Basic ${credentials}` };
  }
  return strategy === 'api_key' && header && value ? { [header]: value } : bearer(value);
}

/** Headers whose values are public, and ordinary texts of source code. */
const PUBLIC = new RegExp(
  '^(?:accept(?:-.*)?|content-type|user-agent|(?:http-)?referer|x-title|' +
    'anthropic-(?:beta|version)|openai-(?:beta|organization|project))$',
  'i',
);

/** The values that are masked in events where they are maskable. */
export function secretsOf(config: Readonly<Record<string, unknown>>): string[] {
  return readServers(config).servers.flatMap((server) => {
    if (server.kind === 'stdio') return named(Object.entries(server.env), 'variable');
    const { password, searchParams } = new URL(server.url);
    return [
      ...secretsOfHeaders(server.headers),
      ...named(searchParams, 'query'),
      password,
      decodeURIComponent(password),
    ];
  });
}

export function secretsOfHeaders(headers: Readonly<Record<string, string>>): string[] {
  const all = Object.entries(headers).filter(([name]) => !PUBLIC.test(name));
  return all.flatMap(([, value]) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, '')]);
}

function named(map: Iterable<readonly [string, string]>, kind: NameKind): string[] {
  return [...map].flatMap(([name, value]) => (isSecretName(name, kind) ? [value] : []));
}
