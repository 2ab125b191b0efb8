/** Bodies of answers: how large one may be, encoded and decoded, and the decoding. */
import type { InputType, ZlibOptions } from 'node:zlib';
import { AppError } from '../../errors.ts';

const MIB = 1024 * 1024;

/**
 * The most bytes of an answer, before and after decoding. A page of 100 events may hold as many screenshots. Raw bytes
 * are files, which are larger than documents.
 */
export const MOST_BYTES = { json: 256 * MIB, bytes: 512 * MIB } as const;

/** What `decode` handles. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';
/** Each layer may multiply the size; servers send one. */
const MOST_LAYERS = 3;

export function tooLarge(maxBytes: number): AppError {
  const most = maxBytes >= MIB ? `${Math.floor(maxBytes / MIB)} MiB` : `${maxBytes} bytes`;
  return new AppError('server', `the answer is larger than the ${most} that acs reads of such an answer`, {
    hint: 'is this the right server? where it is a list, ask for less of it',
  });
}

/**
 * The body without its content encodings.
 * @param encoding the Content-Encoding header; undefined or `identity`: none
 * @throws AppError `server` for an unknown encoding, a damaged body, and one that is larger than `maxBytes`
 */
export async function decode(bytes: Uint8Array, encoding: string | undefined, maxBytes: number): Promise<Uint8Array> {
  const layers = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '' && word !== 'identity');
  if (layers.length === 0 || bytes.length === 0) return bytes;
  if (layers.length > MOST_LAYERS) throw unreadable(`in ${layers.length} layers`);
  let body = bytes;
  for (const layer of layers.reverse()) body = await decodeLayer(body, layer, maxBytes);
  return body;
}

type Decoder = (buffer: InputType, options: ZlibOptions, done: (error: Error | null, result: Buffer) => void) => void;

async function decodeLayer(bytes: Uint8Array, name: string, maxBytes: number): Promise<Uint8Array> {
  const decoder = await decoderOf(name, bytes);
  if (decoder === null) throw unreadable(`as ${name.slice(0, 40)}`);
  return await new Promise((resolve, reject) => {
    decoder(bytes, { maxOutputLength: maxBytes }, (error, result) => {
      if (error === null) resolve(result);
      else if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') reject(tooLarge(maxBytes));
      else reject(new AppError('server', `the answer is damaged: its ${name} encoding cannot be decoded`));
    });
  });
}

async function decoderOf(name: string, bytes: Uint8Array): Promise<Decoder | null> {
  const zlib = await import('node:zlib'); // loaded for encoded answers only
  if (name === 'gzip' || name === 'x-gzip') return zlib.gunzip;
  if (name === 'br') return zlib.brotliDecompress;
  // `deflate` is the zlib format; some servers send the raw one. A zlib header has 8 in its lower four bits.
  if (name === 'deflate') return ((bytes[0] ?? 0) & 0x0f) === 8 ? zlib.inflate : zlib.inflateRaw;
  return null;
}

function unreadable(how: string): AppError {
  return new AppError('server', `the server sent an answer encoded ${how}, which acs does not read`, {
    hint: `a proxy on the way may encode it; acs asks for ${ACCEPTED_ENCODINGS} or none`,
  });
}
