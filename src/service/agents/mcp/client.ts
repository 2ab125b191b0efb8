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

interface OfferedTool {
  server: Server;
  name: string;
  definition: McpTool;
}

export class McpClient {
  readonly #context: McpContext;
  readonly #servers: readonly Server[];
  readonly #problems: string[];
  /** Servers that have listed tools: a later one changes no name of a tool. */
  readonly #order = new Set<Server>();
  #offered: Map<string, OfferedTool> | null = null;

  constructor(config: Readonly<Record<string, unknown>>, context: McpContext) {
    const { servers, problems } = readServers(config);
    this.#context = context;
    this.#servers = servers.map((form) => new Server(form, context));
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
    const params = { name: tool.name, arguments: data };
    const request = { method: 'tools/call' as const, params };
    return tool.server.within(CALL_SECONDS, signal, (client, options) =>
      client.request(request, CallToolResultSchema, options),
    );
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }

  async #list(signal: AbortSignal): Promise<Map<string, OfferedTool>> {
    const begun = this.#servers.filter(({ state, list }) => state === 'stale' && list === null);
    if (begun.length > 0) {
      const lists = Promise.all(begun.map((server) => this.#begin(server, signal)));
      let stop = (): void => undefined;
      const late = new Promise((resolve) => {
        stop = this.#context.sandbox.countdown(WAIT_SECONDS * 1000, () => resolve(null));
      });
      await Promise.race([lists, late]).finally(() => stop());
      signal.throwIfAborted();
      for (const { form } of begun.filter(({ list }) => list !== null))
        this.#problems.push(
          `The MCP server ${form.name} is still starting: its tools join a later step.`,
        );
    }
    if (this.#offered === null) {
      for (const server of this.#servers) if (server.tools.length > 0) this.#order.add(server);
      this.#offered = offeredOf(this.#order, this.#problems);
    }
    const problems = this.#problems.splice(0);
    if (problems.length > 0) this.#context.notice(problems.join('\n'));
    return this.#offered;
  }

  /** Never rejects. */
  #begin(server: Server, signal: AbortSignal): Promise<void> {
    const { name, startSeconds } = server.form;
    const why = `of the MCP server ${name} is not used: its definition is not valid.`;
    const list: Promise<void> = server
      .within(startSeconds ?? START_SECONDS, signal, allTools)
      .then(
        ({ tools, unread }) => ({
          state: 'listed' as const,
          tools,
          problems: unread.map((tool) => `The tool ${tool} ${why}`),
        }),
        (error: unknown) => ({
          state: 'failed' as const,
          tools: [],
          problems: [problem(name, (error as Error).message)],
        }),
      )
      .then(({ state, tools, problems }) => {
        // After a close the next run lists again.
        if (server.list !== list) return;
        server.list = null;
        if (signal.aborted) return;
        server.state = state;
        server.tools = tools;
        this.#problems.push(...problems);
        this.#offered = null;
      });
    server.list = list;
    return list;
  }
}

/** The next call connects a server that has ended again. */
class Server {
  readonly form: McpServer;
  /** `failed`: it could not list its tools. */
  state: 'stale' | 'listed' | 'failed' = 'stale';
  /** While it lists its tools. */
  list: Promise<void> | null = null;
  tools: Tool[] = [];
  readonly #context: McpContext;
  #connection: { client: Client; transport: McpTransport; connected: Promise<void> } | null = null;
  /** Settles when its closed programs have ended. */
  #gone: unknown;

  constructor(form: McpServer, context: McpContext) {
    this.form = form;
    this.#context = context;
  }

  close(): void {
    this.list = null;
    void this.#connection?.client.close();
  }

  /** Runs `work` with a connected server. One that does not answer is disconnected and ended. */
  async within<Result>(
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
    const { client, transport, connected } = (this.#connection ??= this.#connect(options));
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

  #connect(options: RequestOptions) {
    const { form } = this;
    const { sandbox, workingDir, secrets, notice } = this.#context;
    const transport =
      form.kind === 'stdio'
        ? new ProgramTransport(
            sandbox,
            {
              argv: [form.command, ...form.args],
              cwd: path.resolve(workingDir, form.cwd),
              env: { ...secrets(), ...form.env },
            },
            this.#gone,
          )
        : webTransport(form);
    const client = new Client({ name: 'acs', version: ACS_VERSION });
    client.onclose = () => {
      this.#connection = null;
      this.#gone = Promise.all([this.#gone, transport.gone]);
      // The error of a call has the reason.
      if (transport.received.isExceeded && !transport.received.isInCall)
        notice(`The MCP server ${form.name} was ended: ${transport.why}.`);
    };
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      if (this.state === 'listed') this.state = 'stale';
    });
    return { client, transport, connected: client.connect(transport, options) };
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

function offeredOf(servers: Iterable<Server>, problems: string[]) {
  const offered = new Map<string, OfferedTool>();
  const taken = new Set<string>(BUILT_IN.map(({ name }) => name));
  const left: string[] = [];
  for (const server of servers) {
    for (const { name, description = '', inputSchema } of server.tools) {
      // Another server may have a tool of the same name.
      const names = [allowedName(name), allowedName(`${server.form.name}_${name}`)];
      const free = names.find((each) => each !== '' && !taken.has(each));
      if (free === undefined || offered.size === MOST_TOOLS)
        left.push(`${name} of ${server.form.name}`);
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
