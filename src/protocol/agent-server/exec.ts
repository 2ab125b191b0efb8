/**
 * The text frames that a client sends over `/sockets/exec`, a socket of the local service alone.
 *
 * The first frame is `start`. Then binary frames are stdin, up to `EXEC_WINDOW` bytes more than the service has
 * acknowledged with `taken`. The service answers with `started`, then binary frames of output (the first byte is 1 for
 * stdout and 2 for stderr), up to `EXEC_WINDOW` bytes more than the client has acknowledged, and last `exit` or `failed`.
 * A client that closes the socket before that ends the program with everything it started.
 */
import * as v from 'valibot';
import { integerFrom, list, mapOf, oneOf, record, text, truth } from '../detail.ts';

/** Bytes on their way, in each direction. */
export const EXEC_WINDOW = 1024 * 1024;

const size = record({ columns: integerFrom(1), rows: integerFrom(1) });

export const execStart = record({
  type: oneOf(['start']),
  argv: v.nullable(v.pipe(list(text()), v.minLength(1))),
  cwd: v.nullable(text()),
  env: mapOf(text()),
  stdin: truth(),
  terminal: v.nullable(size),
});

/** `end`: of stdin. `kill` ends the program with everything it started. */
export const execControl = v.variant('type', [
  record({ type: v.literal('end') }),
  record({ type: v.literal('kill') }),
  record({ type: v.literal('taken'), bytes: integerFrom(0) }),
  record({ type: v.literal('signal'), signal: oneOf(['SIGHUP', 'SIGINT', 'SIGPIPE', 'SIGTERM']) }),
  record({ type: v.literal('resize'), size }),
]);

export type ExecStart = v.InferOutput<typeof execStart>;
export type ExecControl = v.InferOutput<typeof execControl>;
