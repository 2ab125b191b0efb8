import type { Context } from '../../context.ts';
import { AppError, isNotFound, nullIf } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import { normalizeId } from '../../../domain/ids.ts';
import { checkMcpConfig, checkMcpConfigV1 } from '../../../domain/mcp-config.ts';
import { FLAG_OF_MEMBER, type NewConversation } from '../../../domain/new-conversation.ts';
import { isJsonObject, type JsonValue, type McpConfig } from '../../../domain/settings.ts';
import { positionInJson } from '../../../base/text/json-position.ts';
import { warnOfUnmasked } from '../../shared/files.ts';
import type { Limits } from '../../../runs/deadline.ts';
import { withinDeadline } from '../../shared/derived-context.ts';
import { readImages, readMessage, readTextFile } from '../message.ts';
import type { NewOptions } from './options.ts';
import { chooseRepository } from './repository.ts';
import { cut } from '../../../base/text/well-formed.ts';

export const DEMO = 'demo';

export type Draft = Omit<
  NewConversation,
  'repository' | 'branch' | 'git_provider' | 'spec_id' | 'workspace' | 'title'
>;

/** Everything that can be wrong in flags and files is found here, before any request. */
export async function readDraft(
  ctx: Context,
  argument: string | undefined,
  options: NewOptions,
): Promise<Draft> {
  const { branch, mcpConfig, replay, body } = options;
  const ofFile = async <T>(
    file: string | undefined,
    read: (ctx: Context, file: string) => Promise<T>,
  ): Promise<T | null> => (file === undefined ? null : await read(ctx, file));
  const members = (await ofFile(body, readBody)) ?? {};
  const flags = [
    ['replay_json', '--replay', replay],
    ['selected_branch', '--branch', branch],
    ['mcp_config', '--mcp-config', mcpConfig],
    ...Object.keys(members).map((name) => [name, '--body', body] as const),
  ] as const;
  const set = flags.filter(([, , value]) => value !== undefined);
  const given = Object.fromEntries(set.map(([name, flag, value]) => [name, `${flag} ${value}`]));
  return {
    api: options.api ?? 'auto',
    secrets: await readSecrets(ctx, options.secret ?? []),
    conversation_id: options.id === undefined ? null : readId(options.id),
    confirm: options.confirm ?? null,
    body: members,
    given,
    model: options.model ?? null,
    sandbox_id: options.sandbox ?? null,
    instructions: await ofFile(options.instructions, readTextFile),
    mcp_config: await ofFile(mcpConfig, readMcpConfig),
    replay: await ofFile(replay, readReplay),
    image_urls: await readImages(ctx, options.image ?? []),
    message: await readMessage(ctx, { argument, file: options.file }),
    ...(options.dependencies === false && { dependencies: false }),
  };
}

export function hasTask({ message, replay, body }: Draft): boolean {
  return (
    message !== null || replay !== null || 'suggested_task' in body || 'create_microagent' in body
  );
}

/** The work has the limit of the command. Throws `timeout`, and as `checkServer`. */
export async function beforeStart<T>(
  ctx: Context,
  limits: Limits,
  options: NewOptions,
  prepare: (timed: Context, server: Server) => Promise<T>,
): Promise<T> {
  return await withinDeadline(ctx, limits, async (timed) => {
    try {
      const server = await timed.servers.active();
      await checkServer(server, options);
      return await prepare(timed, server);
    } catch (error) {
      if (!timed.deadline.isOver(error)) throw error;
      throw error.with({}, `${error.message}; nothing was started`);
    }
  });
}

/** Throws for what this server lacks, before anything is sent. */
export async function checkServer(server: Server, options: NewOptions): Promise<void> {
  const { api = 'auto', sandbox } = options;
  const { dialects, dialect } = server.info;
  const lacks = (text: string, details = {}) =>
    new AppError('unsupported', `this server ${text}`, details);
  if (api !== 'auto' && !dialects.includes(api))
    throw lacks(`does not speak ${api}; it speaks ${dialects.join(' and ')}`);
  const [refused, places] = REFUSED[dialect === 'agent' ? 'agent' : 'others'];
  const flag = refused.find((name) => options[name] !== undefined);
  if (flag !== undefined) throw lacks(`has no --${flag}: its conversations run in ${places}`);
  const lacking = NEEDS.find(
    ({ isGiven, feature }) => isGiven(options) && server.presence(feature) === 'absent',
  );
  if (lacking !== undefined) throw lacks(lacking.text, lacking.details);
  // A start over V0 takes no sandbox, known or not, and throws its own error.
  if (sandbox !== undefined && api !== 'v0') await server.sandboxes.get(sandbox);
}

/** Flags by where the conversations of a server run. */
const REFUSED = {
  agent: [['sandbox', 'spec', 'replay'], 'folders of its own machine'],
  others: [['workspace'], 'sandboxes'],
} as const;

/** Flags that only servers with a feature take. */
const NEEDS: readonly {
  isGiven(options: NewOptions): boolean;
  feature: Parameters<Server['presence']>[0];
  text: string;
  details?: { hint: string };
}[] = [
  {
    isGiven: ({ id }) => id !== undefined,
    feature: 'caller-conversation-id',
    text: 'cannot set --id: a start takes no conversation_id here',
  },
  {
    isGiven: ({ title }) => title !== undefined,
    feature: 'rename',
    text:
      'cannot set --title: it has no route that can rename a conversation, neither over V1 ' +
      'nor over V0',
  },
  {
    isGiven: ({ replay }) => replay === DEMO,
    feature: 'demo-replay',
    text: 'does not have the demo, which is built into the local service',
    details: { hint: 'use -p local, or replay a file' },
  },
];

/** @returns the request, and the conversation that has its --id already */
export async function completeDraft(
  ctx: Context,
  server: Server,
  draft: Draft,
  options: NewOptions,
): Promise<{ request: NewConversation; known: Conversation | null }> {
  const { conversation_id: id } = draft;
  const existing =
    id === null ? null : await server.conversations.get(id).catch(nullIf(isNotFound));
  const repository = await chooseRepository(ctx, server, options);
  return {
    request: {
      ...draft,
      ...repository,
      title: options.title === undefined ? undefined : 'given',
      spec_id: options.spec ?? null,
    },
    known: existing?.id ? existing : null,
  };
}

/** JSON, or one JSON value a line. The server checks its steps. */
async function readReplay(ctx: Context, given: string): Promise<string> {
  if (given === DEMO) return DEMO;
  const text = await readTextFile(ctx, given, 64 * 1024 * 1024);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isLines = lines.length > 1 && lines.every((line) => jsonProblem(line) === null);
  if (!isLines) parseJson('--replay', given, text);
  return text;
}

async function readBody(ctx: Context, file: string): Promise<Record<string, JsonValue>> {
  const value = parseJson('--body', file, await readTextFile(ctx, file));
  if (!isJsonObject(value))
    throw new AppError('usage', `--body: ${file} must have one JSON object`);
  const name = Object.keys(value).find((each) => Object.hasOwn(FLAG_OF_MEMBER, each));
  if (name === undefined) return value;
  const text = `--body: ${file} has "${name}", which ${FLAG_OF_MEMBER[name]} sets`;
  throw new AppError('usage', text, {
    hint: 'remove it from the file; see: acs conv new --help',
  });
}

async function readMcpConfig(ctx: Context, file: string): Promise<McpConfig> {
  const value = parseJson('--mcp-config', file, await readTextFile(ctx, file));
  const isByName = isJsonObject(value) && 'mcpServers' in value;
  const problem = isByName ? checkMcpConfigV1(value) : checkMcpConfig(value);
  if (problem !== null) throw new AppError('usage', `--mcp-config: ${file} ${problem}`);
  const config = value as McpConfig;
  const lists = [config.sse_servers, config.shttp_servers, config.stdio_servers];
  const servers: unknown[] = [...lists.flat(), ...Object.values(config.mcpServers ?? {})];
  const secrets = servers
    .filter(isJsonObject)
    .flatMap(({ api_key, env, headers }) => [api_key, env, headers])
    .flatMap((each) => (isJsonObject(each) ? Object.values(each) : each));
  for (const secret of secrets)
    if (typeof secret === 'string' && secret !== '') ctx.terminal.keepSecret(secret);
  await warnOfUnmasked(ctx, '--mcp-config', config);
  return config;
}

async function readSecrets(
  ctx: Context,
  names: readonly string[],
): Promise<Record<string, string>> {
  const secrets: Record<string, string> = {};
  for (const name of names) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new AppError(
        'usage',
        '--secret takes the name of an environment variable, and nothing else',
        {
          hint: 'export NAME first, then --secret NAME: no value belongs on a command line',
        },
      );
    const value = ctx.local.env[name];
    if (value === undefined || value === '')
      throw new AppError('usage', `--secret ${name}: the environment has no ${name}`, {
        hint: `export ${name}=… first`,
      });
    // The tasks of a batch may have the same one.
    if (ctx.terminal.keepSecret(value)) await warnOfUnmasked(ctx, name, value);
    secrets[name] = value;
  }
  return secrets;
}

/** All digits break servers that keep ids in SQLite (interface 4.1). */
function readId(text: string): string {
  const id = normalizeId(text);
  if (id !== null && !/^\d+$/.test(id)) return id;
  throw new AppError('usage', `--id: "${cut(text, 100)}" is not a valid id`, {
    hint:
      'give a UUID (32 hexadecimal digits) that is not all digits 0 to 9, such as that of ' +
      'uuidgen',
  });
}

function parseJson(flag: string, file: string, text: string): JsonValue {
  const problem = jsonProblem(text);
  if (problem === null) return JSON.parse(text) as JsonValue;
  throw new AppError('usage', `${flag}: ${file} is not JSON: ${problem}`, {
    hint: 'nothing was started',
  });
}

/** Null for JSON. The message of Node quotes the text, which may have a secret. */
function jsonProblem(text: string): string | null {
  if (text.trim() === '') return 'it is empty';
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return (
      positionInJson(text, (error as Error).message) ?? 'it ends too early or has a stray character'
    );
  }
}
