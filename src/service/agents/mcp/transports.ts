import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { RunningProgram, Sandbox } from '../../isolation/sandbox.ts';
import { LineReader } from '../../isolation/inside/lines.ts';
import type { RunParameters } from '../../isolation/protocol.ts';
import type { WebServer } from '../../base/mcp-servers.ts';
import { fetchByProxy } from '../proxy.ts';
import { cut } from '../../../base/text/well-formed.ts';

/** Bytes from one message of a server to the next, and outside of calls in one minute. */
const LARGEST_MESSAGE = 10 * 1024 * 1024;
const TOO_MUCH = `it sent more than ${String(LARGEST_MESSAGE / 1024 / 1024)} MiB`;
const MINUTE_MS = 60_000;
/** Bytes counted for a line that nothing waits for: parsing it takes longer than reading it. */
const LINE = 1024;
/** A program has this time to end after its stdin, as the libraries of MCP give it. */
const CLOSING_MS = 2000;
const KEPT_STDERR = 2000;

/** `why`: the reason of an end without `close`. `gone`: settles when the program has ended. */
export type McpTransport = Transport & {
  readonly why: string | null;
  readonly received: Received;
  readonly gone?: Promise<void>;
};

/** Counts what a server sends. During a call the time of the call is the other limit. */
export class Received {
  readonly #end: (why: string) => void;
  #bytes = 0;
  #calls = 0;
  #since = performance.now();

  constructor(end: (why: string) => void) {
    this.#end = end;
  }

  get isInCall(): boolean {
    return this.#calls > 0;
  }

  get isExceeded(): boolean {
    return this.#bytes > LARGEST_MESSAGE;
  }

  inCall(change: 1 | -1): void {
    this.#calls += change;
    this.#bytes = 0;
  }

  add(bytes: number): void {
    const now = performance.now();
    if (!this.isInCall && now - this.#since > MINUTE_MS) [this.#bytes, this.#since] = [0, now];
    this.#bytes += bytes;
    if (this.isExceeded) this.#end(`${TOO_MUCH} without a ${this.isInCall ? 'message' : 'call'}`);
  }

  message(): void {
    if (this.isInCall) this.#bytes = 0;
    else this.add(LINE);
  }
}

export class ProgramTransport implements McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  why: string | null = null;
  readonly received = new Received((why) => this.#end(why));
  readonly #sandbox: Sandbox;
  readonly #program: Pick<RunParameters, 'argv' | 'cwd' | 'env'>;
  readonly #before: unknown;
  gone?: Promise<void>;
  #running: RunningProgram | null = null;
  #stderr = '';
  #ended = false;

  /** `before`: settles when an earlier program, which may hold a port or a lock, has ended. */
  constructor(
    sandbox: Sandbox,
    program: Pick<RunParameters, 'argv' | 'cwd' | 'env'>,
    before?: unknown,
  ) {
    this.#sandbox = sandbox;
    this.#program = program;
    this.#before = before;
  }

  async start(): Promise<void> {
    await this.#before;
    const reader = new LineReader((line) => this.#receive(line));
    const program = { ...this.#program, stdin: true };
    const running = await this.#sandbox.start(program, (stream, data) => {
      // A program that is ended gets no grant: it waits until it is killed.
      if (this.#ended) return;
      if (stream === 'stderr')
        this.#stderr = cut(this.#stderr + data.toString('utf8'), -KEPT_STDERR);
      if (stream === 'stdout' || !this.received.isInCall) this.received.add(data.length);
      if (stream === 'stdout') reader.push(data);
      running.grant(data.length);
    });
    this.#running = running;
    running.ended.then(
      ({ exitCode }) => {
        const said = this.#stderr.trim().split('\n').at(-1) ?? '';
        this.#end(`it ended with exit code ${exitCode}${said === '' ? '' : ` (${said})`}`);
      },
      (error: unknown) => {
        this.#end((error as Error).message);
      },
    );
    if (this.#ended) this.#kill();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#running === null || this.#ended) throw new Error('the program does not run');
    await this.#running.write(Buffer.from(serializeMessage(message)));
  }

  close(): Promise<void> {
    if (this.#running !== null && !this.#ended) {
      const { ended } = this.#running;
      this.#running.closeStdin();
      this.gone = new Promise((resolve) => {
        const stop = this.#sandbox.countdown(CLOSING_MS, () => {
          this.#kill();
          resolve();
        });
        void ended
          .catch(() => undefined)
          .then(stop)
          .then(resolve);
      });
    }
    this.#leave(null);
    return Promise.resolve();
  }

  #receive(line: string): void {
    if (this.#ended) return;
    try {
      const message = deserializeMessage(withResult(line));
      this.received.message();
      this.onmessage?.(message);
    } catch (error) {
      this.received.add(LINE);
      this.onerror?.(error as Error);
    }
  }

  #end(why: string): void {
    if (this.#ended) return;
    this.#leave(why);
    this.#kill();
  }

  #leave(why: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.why = why;
    this.onclose?.();
  }

  #kill(): void {
    this.#running?.signal('SIGKILL');
  }
}

/** Some servers answer with `null` for a result that is empty. */
function withResult(line: string): string {
  if (!/"result"\s*:\s*null/.test(line)) return line;
  const message = JSON.parse(line) as { result?: unknown };
  return message.result === null ? JSON.stringify({ ...message, result: {} }) : line;
}

/** The library follows a redirect only to the same origin, so that headers go nowhere else. */
export function webTransport({ kind, url, headers }: WebServer): McpTransport {
  const limited = async (...given: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetchByProxy(...given);
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received.add(chunk.length);
        controller.enqueue(chunk);
      },
    });
    return response.body === null
      ? response
      : new Response(response.body.pipeThrough(count), response);
  };
  const options = { requestInit: { headers }, fetch: limited };
  const Chosen = kind === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const end = (reason: string): void => {
    if (transport.why !== null) return;
    transport.why = reason;
    void transport.close();
  };
  const received = new Received(end);
  const transport = Object.assign(new Chosen(new URL(url), options), {
    why: null as string | null,
    received,
  });
  transport.onmessage = () => {
    received.message();
  };
  transport.onerror = (error) => {
    // The transport would connect again, to a session that the client has not initialized.
    if (error instanceof SseError) end(error.message);
    // Nothing else would end the call whose answer is not valid.
    else if (error.name === 'ZodError' && received.isInCall)
      end('it sent a message that is not valid');
  };
  return transport;
}
