/** Runs a program over `/sockets/exec`, a socket of the local service (frames: src/protocol/agent-server/exec.ts). */
import type { WebSocket } from 'undici';
import type { Program, ProgramStreams } from '../../domain/program.ts';
import { AppError } from '../../errors.ts';
import { asRecord, isShapeError, optionalNumber, optionalText, requiredText } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';
import { DryRunStop } from '../transport/dry-run.ts';
import { opened } from './socket.ts';

export interface AgentAddress {
  baseUrl: string;
  key: string | null;
}

/** As in src/protocol/agent-server/exec.ts: what may be on its way without an acknowledgement. */
const WINDOW = 1024 * 1024;
const PIECE = 64 * 1024;

type Frame =
  | { type: 'started' }
  | { type: 'taken'; bytes: number }
  | { type: 'exit'; exitCode: number }
  | { type: 'failed'; code: string; message: string };

export async function execOverSocket(
  links: Links,
  { baseUrl, key }: AgentAddress,
  program: Program,
  streams: ProgramStreams,
): Promise<number> {
  const url = `${baseUrl.replace(/^http/, 'ws').replace(/\/$/, '')}/sockets/exec`;
  const start = { type: 'start', ...program, stdin: streams.stdin !== null };
  if (links.mode === 'dry-run') {
    const { redaction } = links.network;
    throw new DryRunStop([{ method: 'GET', url: redaction.text(url), body: redaction.value(start) }]);
  }
  const socket = await links.network.openSocket(url, key === null ? {} : { 'x-session-api-key': key });
  socket.binaryType = 'arraybuffer';
  const run = new Run(socket, streams);
  await opened(links, socket, `the socket for programs of ${baseUrl}`);
  const leave = (): void => socket.close();
  links.signal.addEventListener('abort', leave, { once: true });
  try {
    return await run.exitCode(start);
  } catch (error) {
    links.signal.throwIfAborted();
    throw error;
  } finally {
    links.signal.removeEventListener('abort', leave);
    socket.close();
  }
}

/** One program: the frames of the socket in their order, and stdin within the window. */
class Run {
  readonly #socket: WebSocket;
  readonly #streams: ProgramStreams;
  #output: Promise<void> = Promise.resolve();
  #unacknowledged = 0;
  #wakeInput: (() => void) | null = null;
  #isOver = false;

  constructor(socket: WebSocket, streams: ProgramStreams) {
    this.#socket = socket;
    this.#streams = streams;
  }

  async exitCode(start: unknown): Promise<number> {
    const ended = this.#ended();
    this.#send(start);
    this.#streams.onControl((control) => this.#send(control));
    if (this.#streams.stdin !== null) void this.#passInput(this.#streams.stdin);
    try {
      return await ended;
    } finally {
      this.#isOver = true;
      this.#wakeInput?.();
    }
  }

  #ended(): Promise<number> {
    return new Promise((resolve, reject) => {
      const after = (then: () => void): void => {
        this.#output = this.#output.then(then).catch(reject);
      };
      this.#socket.addEventListener('message', ({ data }: { data: unknown }) => {
        if (data instanceof ArrayBuffer) return after(() => this.#print(new Uint8Array(data)) as never);
        const frame = readFrame(String(data));
        if (frame.type === 'taken') this.#acknowledge(frame.bytes);
        else if (frame.type === 'exit') after(() => resolve(frame.exitCode));
        else if (frame.type === 'failed') reject(failureOf(frame));
      });
      this.#socket.addEventListener('close', ({ code }: { code: number }) => {
        after(() => reject(lost(code)));
      });
      this.#socket.addEventListener('error', () => after(() => reject(lost(1006))));
    });
  }

  async #print(frame: Uint8Array): Promise<void> {
    const bytes = frame.subarray(1);
    await this.#streams.output(frame[0] === 2 ? 'stderr' : 'stdout', bytes);
    this.#send({ type: 'taken', bytes: bytes.length });
  }

  async #passInput(stdin: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of stdin) {
        for (let offset = 0; offset < chunk.length; offset += PIECE)
          await this.#write(chunk.subarray(offset, offset + PIECE));
        if (this.#isOver) return;
      }
    } catch {
      // The command has closed its stdin, or it cannot be read: the program sees the end of it.
    }
    this.#send({ type: 'end' });
  }

  async #write(piece: Uint8Array): Promise<void> {
    while (this.#unacknowledged + piece.length > WINDOW && !this.#isOver) {
      await new Promise<void>((resolve) => (this.#wakeInput = resolve));
    }
    if (this.#isOver) return;
    this.#unacknowledged += piece.length;
    this.#socket.send(piece);
  }

  #acknowledge(bytes: number): void {
    this.#unacknowledged -= bytes;
    this.#wakeInput?.();
  }

  #send(frame: unknown): void {
    if (!this.#isOver && this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
}

function readFrame(data: string): Frame {
  try {
    const record = asRecord(JSON.parse(data), 'frame');
    const type = requiredText(record, 'type', 'frame');
    if (type === 'taken') return { type, bytes: optionalNumber(record, 'bytes', 'frame') ?? 0 };
    const exitCode = optionalNumber(record, 'exit_code', 'frame');
    if (type === 'exit' && exitCode !== null) return { type, exitCode };
    if (type !== 'failed') return { type: 'started' };
    const code = optionalText(record, 'code', 'frame') ?? 'failed';
    return { type, code, message: optionalText(record, 'message', 'frame') ?? 'no reason' };
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isShapeError(error)) throw error;
    return { type: 'failed', code: 'failed', message: 'a frame of the socket is not valid' };
  }
}

function failureOf({ code, message }: { code: string; message: string }): AppError {
  const kinds = { 'not-found': 'not-found', unsupported: 'unsupported', gone: 'conflict' } as const;
  return new AppError(kinds[code as keyof typeof kinds] ?? 'server', message);
}

/** The service ends the program with the socket. */
function lost(code: number): AppError {
  if (code === 1001) {
    return new AppError('conflict', 'the sandbox was paused or stopped; the program in it was ended');
  }
  return new AppError('network', 'the connection to the sandbox was lost; the program in it was ended');
}
