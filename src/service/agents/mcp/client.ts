import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  type Tool,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Sandbox } from '../../isolation/sandbox.ts';
import { BUILT_IN } from '../model/definitions.ts';
import { type McpServer, problem, readServers } from '../../base/mcp-servers.ts';
import { type McpTransport, ProgramTransport, webTransport } from './transports.ts';
import type { McpTool } from '../model/tools.ts';
import { cut } from '../../../base/text/well-formed.ts';

declare const ACS_VERSION: string;

const LIST_SECONDS = 30;
const CALL_SECONDS = 300;
/** Model endpoints take 128 tools. */
const MOST_TOOLS = 100;
/** Characters of a text that a server may have written. */
const LONGEST_REASON = 2000;
/** The time limit of the SDK would run while the sandbox is paused. */
const NO_TIMEOUT = 2 ** 31 - 1;

export interface McpContext {
  sandbox: Sandbox;
  workingDir: string;
  secrets: () => Readonly<Record<string, string>>;
  notice: (text: string) => void;
}

interface Connection {
  client: Client;
  transport: McpTransport;
  connected: Promise<void>;
}

interface OfferedTool {
  server: McpServer;
  name: string;
  definition: McpTool;
}

/** The next call connects a server that has ended again. */
export class McpClient {
  readonly #context: McpContext;
  /** Without those that have failed to list their tools. */
  #servers: McpServer[];
  #problems: string[];
  #offered: Map<string, OfferedTool> | null = null;
  readonly #connections = new Map<McpServer, Connection>();
  /** Settles when every closed program has ended. */
  #gone: unknown;

  constructor(config: Readonly<Record<string, unknown>>, context: McpContext) {
    const { servers, problems } = readServers(config);
    this.#context = context;
    this.#servers = servers;
    this.#problems = problems;
  }

  async definitions(signal: AbortSignal): Promise<McpTool[]> {
    return [...(await this.#list(signal)).values()].map(({ definition }) => definition);
  }

  /** Throws an error for the model, and the reason of the signal when it is aborted. */
  async call(
    name: string,
    data: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const tool = (await this.#list(signal)).get(name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    const { server } = tool;
    return this.#within(server, CALL_SECONDS, signal, async (client, options) => {
      const request = {
        method: 'tools/call' as const,
        params: { name: tool.name, arguments: data },
      };
      return client.request(request, CallToolResultSchema, options);
    });
  }

  close(): void {
    for (const { client } of [...this.#connections.values()]) void client.close();
  }

  async #list(signal: AbortSignal): Promise<Map<string, OfferedTool>> {
    if (this.#offered !== null) return this.#offered;
    const problems = this.#problems;
    const lists = await Promise.all(
      this.#servers.map(async (server) => {
        try {
          return { server, tools: await this.#within(server, LIST_SECONDS, signal, allTools) };
        } catch (error) {
          signal.throwIfAborted();
          problems.push(problem(server.name, (error as Error).message));
          return null;
        }
      }),
    );
    const answered = lists.filter((list) => list !== null);
    this.#servers = answered.map(({ server }) => server);
    this.#problems = [];
    this.#offered = offeredOf(answered, problems);
    if (problems.length > 0) this.#context.notice(problems.join('\n'));
    return this.#offered;
  }

  /** Runs `work` with a connected server. One that does not answer is disconnected and ended. */
  async #within<Result>(
    server: McpServer,
    seconds: number,
    signal: AbortSignal,
    work: (client: Client, options: RequestOptions) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const silence = new AbortController();
    const stop = this.#context.sandbox.countdown(seconds * 1000, () => {
      silence.abort(new Error(`it did not answer within ${seconds} s`));
    });
    const either = AbortSignal.any([signal, silence.signal]);
    const aborted = new Promise<never>((_, reject) => {
      either.addEventListener('abort', () => reject(either.reason as Error));
    });
    const options = { signal: either, timeout: NO_TIMEOUT };
    const { client, transport, connected } =
      this.#connections.get(server) ?? this.#connect(server, options);
    transport.received.inCall(1);
    try {
      return await Promise.race([connected.then(() => work(client, options)), aborted]);
    } catch (error) {
      const isAnswer =
        error instanceof McpError && error.code !== Number(ErrorCode.ConnectionClosed);
      if (either.aborted || !isAnswer) void client.close();
      signal.throwIfAborted();
      throw new Error(
        transport.why ?? reasonOf(silence.signal.aborted ? silence.signal.reason : error),
      );
    } finally {
      transport.received.inCall(-1);
      stop();
    }
  }

  #connect(server: McpServer, options: RequestOptions): Connection {
    const { sandbox, workingDir, secrets } = this.#context;
    const transport =
      server.kind === 'stdio'
        ? new ProgramTransport(
            sandbox,
            {
              argv: [server.command, ...server.args],
              cwd: path.resolve(workingDir, server.cwd),
              env: { ...secrets(), ...server.env },
            },
            this.#gone,
          )
        : webTransport(server);
    const client = new Client({ name: 'acs', version: ACS_VERSION });
    client.onclose = () => {
      this.#connections.delete(server);
      this.#gone = Promise.all([this.#gone, transport.gone]);
      // The error of a call has the reason.
      if (transport.received.isExceeded && !transport.received.isInCall)
        this.#context.notice(`The MCP server ${server.name} was ended: ${transport.why}.`);
    };
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#offered = null;
    });
    const connection = { client, transport, connected: client.connect(transport, options) };
    this.#connections.set(server, connection);
    return connection;
  }
}

async function allTools(client: Client, options: RequestOptions): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const request = {
      method: 'tools/list' as const,
      params: cursor === undefined ? {} : { cursor },
    };
    const page = await client.request(request, ListToolsResultSchema, options);
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined && tools.length <= MOST_TOOLS);
  return tools;
}

function offeredOf(lists: readonly { server: McpServer; tools: Tool[] }[], problems: string[]) {
  const offered = new Map<string, OfferedTool>();
  const taken = new Set<string>(BUILT_IN.map(({ name }) => name));
  const left: string[] = [];
  for (const { server, tools } of lists) {
    for (const { name, description = '', inputSchema } of tools) {
      // Another server may have a tool of the same name.
      const names = [allowedName(name), allowedName(`${server.name}_${name}`)];
      const free = names.find((each) => each !== '' && !taken.has(each));
      if (free === undefined || offered.size === MOST_TOOLS) left.push(`${name} of ${server.name}`);
      else {
        taken.add(free);
        const parameters = inputSchema as McpTool['parameters'];
        offered.set(free, { server, name, definition: { name: free, description, parameters } });
      }
    }
  }
  const why = `a model is offered ${String(MOST_TOOLS)} tools of different names`;
  if (left.length > 0)
    problems.push(
      cut(`Tools of MCP servers are not used, as ${why}: ${left.join(', ')}`, LONGEST_REASON),
    );
  return offered;
}

/** Endpoints take names of up to 64 of these characters. */
function allowedName(name: string): string {
  return cut(name.replace(/[^a-zA-Z0-9_-]/g, '_'), 64);
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cut(cause instanceof Error ? `${message}: ${cause.message}` : message, LONGEST_REASON);
}
