import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  McpError,
  ResultSchema,
  type Tool,
  ToolListChangedNotificationSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Sandbox } from '../../isolation/sandbox.ts';
import { BUILT_IN } from '../model/definitions.ts';
import { type McpServer, problem, readServers } from '../../base/mcp-servers.ts';
import { type McpTransport, ProgramTransport, webTransport } from './transports.ts';
import type { McpTool } from '../model/tools.ts';
import { cut } from '../../../base/text/well-formed.ts';

declare const ACS_VERSION: string;

/** A step waits this long for the tools of a server, which has more time until it is given up. */
const WAIT_SECONDS = 10;
const START_SECONDS = 60;
const CALL_SECONDS = 300;
/** Model endpoints take 128 tools. */
const MOST_TOOLS = 100;
/** Characters of texts that a server may have written. */
const LONGEST_REASON = 2000;
const LONGEST_NAME = 100;
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
  readonly #pending = new Map<McpServer, Promise<void>>();
  /** Servers whose tools have not changed since they were listed. */
  readonly #listed = new Set<McpServer>();
  readonly #tools = new Map<McpServer, Tool[]>();
  /** Servers that have answered: a later one changes no name of a tool. */
  readonly #order = new Set<McpServer>();
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
    this.#pending.clear();
    for (const { client } of [...this.#connections.values()]) void client.close();
  }

  async #list(signal: AbortSignal): Promise<Map<string, OfferedTool>> {
    const begun = this.#servers.filter(
      (server) => !this.#listed.has(server) && !this.#pending.has(server),
    );
    if (begun.length > 0) {
      const lists = Promise.all(begun.map((server) => this.#begin(server, signal)));
      let stop = (): void => undefined;
      const late = new Promise((resolve) => {
        stop = this.#context.sandbox.countdown(WAIT_SECONDS * 1000, () => resolve(null));
      });
      await Promise.race([lists, late]).finally(() => stop());
      signal.throwIfAborted();
      const starting = begun.filter((server) => this.#pending.has(server));
      for (const { name } of starting)
        this.#problems.push(
          `The MCP server ${name} is still starting: its tools join a later step.`,
        );
    }
    if (this.#offered === null) {
      for (const server of this.#servers.filter((each) => this.#tools.has(each)))
        this.#order.add(server);
      const lists = [...this.#order].map((server) => ({
        server,
        tools: this.#tools.get(server) ?? [],
      }));
      this.#offered = offeredOf(lists, this.#problems);
    }
    const problems = this.#problems.splice(0);
    if (problems.length > 0) this.#context.notice(problems.join('\n'));
    return this.#offered;
  }

  /** Never rejects. */
  #begin(server: McpServer, signal: AbortSignal): Promise<void> {
    const seconds = server.startSeconds ?? START_SECONDS;
    const list = this.#within(server, seconds, signal, allTools).then(
      ({ tools, unread }) => {
        if (!ends()) return;
        const why = `of the MCP server ${server.name} is not used: its definition is not valid.`;
        this.#problems.push(...unread.map((name) => `The tool ${name} ${why}`));
        this.#listed.add(server);
        this.#tools.set(server, tools);
        this.#offered = null;
      },
      (error: unknown) => {
        if (!ends() || signal.aborted) return;
        this.#problems.push(problem(server.name, (error as Error).message));
        this.#servers = this.#servers.filter((each) => each !== server);
        this.#tools.delete(server);
        this.#offered = null;
      },
    );
    // After a close the next run lists again.
    const ends = (): boolean => this.#pending.get(server) === list && this.#pending.delete(server);
    this.#pending.set(server, list);
    return list;
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
      this.#listed.delete(server);
    });
    const connection = { client, transport, connected: client.connect(transport, options) };
    this.#connections.set(server, connection);
    return connection;
  }
}

/** A tool that the schema of the SDK refuses costs no other tool of its server. */
async function allTools(
  client: Client,
  options: RequestOptions,
): Promise<{ tools: Tool[]; unread: string[] }> {
  const tools: Tool[] = [];
  const unread: string[] = [];
  let cursor: unknown;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const request = { method: 'tools/list' as const, params };
    const { tools: listed, nextCursor } = await client.request(request, ResultSchema, options);
    if (!Array.isArray(listed)) throw new Error('it listed no tools');
    for (const each of listed) {
      const { data } = ToolSchema.safeParse(each);
      if (data === undefined) unread.push(nameIn(each));
      else tools.push(data);
    }
    cursor = nextCursor;
  } while (typeof cursor === 'string' && tools.length + unread.length <= MOST_TOOLS);
  return { tools, unread };
}

function nameIn(tool: unknown): string {
  const { name } = (tool ?? {}) as { name?: unknown };
  return typeof name === 'string' ? cut(name, LONGEST_NAME) : 'without a name';
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
