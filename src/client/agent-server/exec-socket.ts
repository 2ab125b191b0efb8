/** `/sockets/exec`, a socket of the local service (frames: src/protocol/agent-server/exec.ts). */
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
import { opened } from './socket.ts';

/** What may be on its way without an acknowledgement. */
const WINDOW = 1024 * 1024;
const PIECE = 64 * 1024;

export async function execOverSocket(
  links: Links,
  { baseUrl, key }: { baseUrl: string; key: string | null },
  program: Program,
  { stdin, output, onControl }: ProgramStreams,
): Promise<number> {
  const url = `${baseUrl.replace(/^http/, 'ws').replace(/\/$/, '')}/sockets/exec`;
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
  socket.binaryType = 'arraybuffer';
  let isOver = false;
  const send = (frame: unknown): void => {
    if (!isOver && socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
  };

  let unacknowledged = 0;
  let acknowledged = (): void => undefined;
  const passInput = async (input: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of input) {
      for (let offset = 0; offset < chunk.length && !isOver; offset += PIECE) {
        const piece = chunk.subarray(offset, offset + PIECE);
        while (unacknowledged + piece.length > WINDOW && !isOver) {
          await new Promise<void>((resolve) => (acknowledged = resolve));
        }
        unacknowledged += piece.length;
        if (!isOver) socket.send(piece);
      }
      if (isOver) return;
    }
  };

  const ended = new Promise<number>((resolve, reject) => {
    // The parts are printed in order, and the end of the program is reported after them.
    let printed = Promise.resolve();
    const after = (work: () => unknown): void =>
      void (printed = printed.then(work).then(() => undefined, reject));
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (data instanceof ArrayBuffer) {
        after(async () => {
          const [stream] = new Uint8Array(data);
          const bytes = new Uint8Array(data).subarray(1);
          await output(stream === 2 ? 'stderr' : 'stdout', bytes);
          send({ type: 'taken', bytes: bytes.length });
        });
        return;
      }
      try {
        const frame = asRecord(JSON.parse(String(data)), 'frame');
        const type = requiredText(frame, 'type', 'frame');
        const exitCode = optionalNumber(frame, 'exit_code', 'frame');
        if (type === 'taken') {
          unacknowledged -= optionalNumber(frame, 'bytes', 'frame') ?? 0;
          acknowledged();
        } else if (type === 'exit' && exitCode !== null) after(() => resolve(exitCode));
        else if (type === 'failed') {
          const kind = KINDS[optionalText(frame, 'code', 'frame') ?? ''] ?? 'server';
          reject(
            new AppError(
              kind,
              optionalText(frame, 'message', 'frame') ?? 'the program failed without a reason',
            ),
          );
        }
      } catch (error) {
        const isWrong = error instanceof SyntaxError || isShapeError(error);
        reject(
          isWrong ? new AppError('server', 'a frame of the socket is not valid') : (error as Error),
        );
      }
    });
    const closed = (code: number): void =>
      after(() => {
        const isStopped = code === 1001;
        const what = isStopped
          ? 'the sandbox was paused or stopped'
          : 'the connection to the sandbox was lost';
        reject(
          new AppError(isStopped ? 'conflict' : 'network', `${what}; the program in it was ended`),
        );
      });
    socket.addEventListener('close', ({ code }: { code: number }) => closed(code));
    socket.addEventListener('error', () => closed(1006));
  });
  ended.catch(() => undefined);
  const leave = (): void => socket.close();
  try {
    await opened(
      links,
      socket,
      `the socket for programs of ${baseUrl}, which only the local service has,`,
    );
    links.signal.addEventListener('abort', leave, { once: true });
    send(start);
    onControl(send);
    if (stdin !== null)
      passInput(stdin)
        .finally(() => send({ type: 'end' }))
        .catch(() => undefined);
    return await ended;
  } catch (error) {
    links.signal.throwIfAborted();
    throw error;
  } finally {
    isOver = true;
    acknowledged();
    links.signal.removeEventListener('abort', leave);
    socket.close();
  }
}

const KINDS: Record<string, ErrorKind> = {
  'not-found': 'not-found',
  unsupported: 'unsupported',
  gone: 'conflict',
};
