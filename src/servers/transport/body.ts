/** Bodies of answers: how large one may be, encoded and decoded, and which encodings are accepted. */
import { AppError } from '../../errors.ts';

const MIB = 1024 * 1024;

/**
 * The most bytes of an answer, before and after decoding. A page of 100 events may hold as many screenshots. Raw bytes
 * are files, which are larger than documents.
 */
export const MOST_BYTES = { json: 256 * MIB, any: 256 * MIB, bytes: 512 * MIB } as const;

/** The most bytes of a web-socket frame, which holds one event. Also what undici accepts through a proxy. */
export const MOST_FRAME_BYTES = 128 * MIB;

/** What `decode` handles. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';
export function tooLarge(maxBytes: number): AppError {
  const most = maxBytes >= MIB ? `${Math.floor(maxBytes / MIB)} MiB` : `${maxBytes} bytes`;
  return new AppError('server', `the answer is larger than the ${most} that acs reads of such an answer`, {
    hint: 'is this the right server? where it is a list, ask for less of it',
  });
}
