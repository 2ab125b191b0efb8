/** The transports of MCP: the streams of a program in the sandbox, and HTTP from the worker. */
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { RunningProgram, Sandbox } from '../../agent-server/sandbox.ts';
import { LineReader } from '../../isolation/inside/lines.ts';
import type { RunParameters } from '../../isolation/protocol.ts';
import type { WebServer } from './config.ts';
import { fetchByProxy } from '../proxy.ts';
import { cut } from '../../../output/text/well-formed.ts';

/** Bytes that a server may send from one message to the next. */
const LARGEST_MESSAGE = 10 * 1024 * 1024;
const TOO_MUCH = `it sent more than ${String(LARGEST_MESSAGE / 1024 / 1024)} MiB without a message`;
/** Bytes counted for a line that is not a message: parsing it takes longer than reading it. */
const INVALID = 1024;
const WINDOW = 1024 * 1024;
/** Bytes of one frame to the helper. */
const PIECE = 64 * 1024;
const KEPT_STDERR = 2000;

/** `why`: the reason when the transport ended without a call of `close`. */
export type McpTransport = Transport & { readonly why: string | null };

export class ProgramTransport implements McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  why: string | null = null;
  readonly #sandbox: Sandbox;
  readonly #program: Pick<RunParameters, 'argv' | 'cwd' | 'env'>;
  #running: RunningProgram | null = null;
  #stderr = '';
  #received = 0;
  #ended = false;

  constructor(sandbox: Sandbox, program: Pick<RunParameters, 'argv' | 'cwd' | 'env'>) {
    this.#sandbox = sandbox;
    this.#program = program;
  }

  async start(): Promise<void> {
    const reader = new LineReader((line) => {
      this.#receive(line);
    });
    const parameters = { ...this.#program, inherits: true, stdin: true, until: 'silent', window: WINDOW } as const;
    const running = await this.#sandbox.start(parameters, (stream, data) => {
      if (stream === 'stderr') this.#stderr = cut(this.#stderr + data.toString('utf8'), -KEPT_STDERR);
      else if (!this.#ended) {
        this.#received += data.length;
        if (this.#received > LARGEST_MESSAGE) this.#end(TOO_MUCH);
        else reader.push(data);
      }
      running.connection.grant(running.run, data.length);
    });
    this.#running = running;
    running.ended.then(
      ({ exitCode }) => {
        const said = this.#stderr.trim().split('\n').at(-1) ?? '';
        this.#end(`it ended with exit code ${String(exitCode)}${said === '' ? '' : ` (${said})`}`);
      },
      (error: unknown) => {
        this.#end((error as Error).message);
      },
    );
    if (this.#ended) this.#kill();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#running === null || this.#ended) throw new Error('the program does not run');
    const { connection, run } = this.#running;
    const bytes = Buffer.from(serializeMessage(message));
    const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, index) =>
      bytes.subarray(index * PIECE, (index + 1) * PIECE),
    );
    await Promise.all(
      pieces.map((piece) => connection.ask('write', { run, data: piece.toString('base64'), last: false }).answer),
    );
  }

  close(): Promise<void> {
    this.#end(null);
    return Promise.resolve();
  }

  #receive(line: string): void {
    if (this.#ended) return;
    try {
      const message = deserializeMessage(line);
      this.#received = 0;
      this.onmessage?.(message);
    } catch (error) {
      // Some servers also write their log to stdout.
      this.#received += INVALID;
      if (this.#received > LARGEST_MESSAGE) this.#end(TOO_MUCH);
      this.onerror?.(error as Error);
    }
  }

  #end(why: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.why = why;
    this.#kill();
    this.onclose?.();
  }

  #kill(): void {
    if (this.#running === null) return;
    const { connection, run } = this.#running;
    connection.ask('signal', { run, signal: 'SIGKILL' }).answer.catch(() => undefined);
  }
}

/** The transports of the library follow a redirect only to the same origin, so that headers go nowhere else. */
export function webTransport({ kind, url, headers }: WebServer): McpTransport {
  let received = 0;
  const limited = async (...given: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetchByProxy(...given);
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received += chunk.length;
        if (received > LARGEST_MESSAGE) end(TOO_MUCH);
        controller.enqueue(chunk);
      },
    });
    return response.body === null ? response : new Response(response.body.pipeThrough(count), response);
  };
  const options = { requestInit: { headers }, fetch: limited };
  const Chosen = kind === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = Object.assign(new Chosen(new URL(url), options), { why: null as string | null });
  const end = (reason: string): void => {
    transport.why ??= reason;
    void transport.close();
  };
  transport.onmessage = () => {
    received = 0;
  };
  transport.onerror = (error) => {
    // The transport would connect again, to a session that the client has not initialized.
    if (error instanceof SseError) end(error.message);
  };
  return transport;
}
