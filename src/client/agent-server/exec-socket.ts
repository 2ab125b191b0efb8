/** `/sockets/exec`, a socket of the local service (frames: src/service/agent-server/sockets.ts). */
import { on } from 'node:events';
import type { WebSocket } from 'ws';
import type { Program, ProgramStreams } from '../../domain/program.ts';
import { AppError, DryRunStop, type ErrorKind } from '../../base/errors.ts';
import {
  asRecord,
  isShapeError,
  optionalNumber,
  optionalText,
  requiredText,
} from '../../protocol/shape.ts';
import type { Links } from '../shared/links.ts';
import { opened, socketUrl } from './socket.ts';

/** Bytes of stdin that may be on their way without an acknowledgement. */
const WINDOW = 1024 * 1024;
const PIECE = 64 * 1024;

export async function execOverSocket(
  links: Links,
  { baseUrl, key }: { baseUrl: string; key: string | null },
  program: Program,
  { stdin, output, onControl }: ProgramStreams,
): Promise<number> {
  const url = socketUrl(baseUrl, 'exec');
  const start = { type: 'start', ...program, stdin: stdin !== null };
  if (links.mode === 'dry-run') {
    const { redaction } = links.network;
    throw new DryRunStop([
      { method: 'GET', url: redaction.text(url), body: redaction.value(start) },
    ]);
  }
  const socket = await links.network.openSocket(
    url,
    key === null ? {} : { 'x-session-api-key': key },
  );
  let closeCode = 1006;
  let failure: unknown = null;
  socket.once('close', (code) => (closeCode = code)).once('error', (error) => (failure = error));
  const messages = on(socket, 'message', { close: ['close'] }) as AsyncIterable<[Buffer, boolean]>;
  const input = new Input(socket);
  const leave = () => socket.close();
  links.signal.addEventListener('abort', leave, { once: true });
  try {
    const name = `the socket for programs of ${baseUrl}, which only the local service has,`;
    await opened(links, socket, name);
    send(socket, start);
    onControl((control) => send(socket, control));
    if (stdin !== null) input.pass(stdin).catch(() => undefined);
    const exitCode = await receive(messages, socket, input, output);
    if (exitCode !== null) return exitCode;
    throw lostSocket(closeCode);
  } catch (error) {
    links.signal.throwIfAborted();
    throw error === failure ? lostSocket(closeCode) : error;
  } finally {
    links.signal.removeEventListener('abort', leave);
    socket.close();
    input.end();
  }
}

/**
 * Null when the socket is closed before the program ends. Output waits for its reader; an
 * acknowledgement does not: a caller may write all of stdin before it reads.
 */
async function receive(
  messages: AsyncIterable<[Buffer, boolean]>,
  socket: WebSocket,
  input: Input,
  output: ProgramStreams['output'],
): Promise<number | null> {
  const print = async (data: Buffer) => {
    await output(data[0] === 2 ? 'stderr' : 'stdout', data.subarray(1));
    send(socket, { type: 'taken', bytes: data.length - 1 });
  };
  let printed = Promise.resolve();
  for await (const [data, isBinary] of messages) {
    if (isBinary) {
      printed = printed.then(() => print(data));
      printed.catch(() => socket.close());
      continue;
    }
    const { type, exitCode, bytes, code, message } = readFrame(data);
    if (type === 'failed') throw new AppError(KINDS[code] ?? 'server', message);
    if (type === 'taken') input.acknowledge(bytes);
    if (type !== 'exit' || exitCode === null) continue;
    await printed;
    return exitCode;
  }
  await printed;
  return null;
}

async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let offset = 0; offset < chunk.length; offset += PIECE)
      yield chunk.subarray(offset, offset + PIECE);
}

function send(socket: WebSocket, frame: object): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
}

/** Sends stdin, and waits while more than the window is not acknowledged. */
class Input {
  readonly #socket: WebSocket;
  #unacknowledged = 0;
  #isOver = false;
  #continue = (): void => undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  async pass(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of piecesOf(chunks)) {
        while (this.#unacknowledged + piece.length > WINDOW && !this.#isOver)
          await new Promise<void>((resolve) => (this.#continue = resolve));
        if (this.#isOver) return;
        this.#unacknowledged += piece.length;
        this.#socket.send(piece);
      }
    } finally {
      send(this.#socket, { type: 'end' });
    }
  }

  acknowledge(bytes: number): void {
    this.#unacknowledged -= bytes;
    this.#continue();
  }

  end(): void {
    this.#isOver = true;
    this.#continue();
  }
}

function readFrame(data: Buffer) {
  try {
    const frame = asRecord(JSON.parse(data.toString()), 'frame');
    return {
      type: requiredText(frame, 'type', 'frame'),
      exitCode: optionalNumber(frame, 'exit_code', 'frame'),
      bytes: optionalNumber(frame, 'bytes', 'frame') ?? 0,
      code: optionalText(frame, 'code', 'frame') ?? '',
      message: optionalText(frame, 'message', 'frame') ?? 'the program failed without a reason',
    };
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isShapeError(error)) throw error;
    throw new AppError('server', 'a frame of the socket is not valid');
  }
}

const KINDS: Record<string, ErrorKind> = {
  'not-found': 'not-found',
  unsupported: 'unsupported',
  gone: 'conflict',
};

/** 1001: the server ends the socket with the sandbox. */
function lostSocket(code: number): AppError {
  return code === 1001
    ? new AppError('conflict', 'the sandbox was paused or stopped; the program in it was ended')
    : new AppError(
        'network',
        'the connection to the sandbox was lost; the program in it was ended',
      );
}
