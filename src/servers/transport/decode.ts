/** The decoding of answers that carry a Content-Encoding. */
import zlib, { type InputType, type ZlibOptions } from 'node:zlib';
import { AppError } from '../../errors.ts';
import { ACCEPTED_ENCODINGS, tooLarge } from './body.ts';

/** Each layer may multiply the size; servers send one. */
const MOST_LAYERS = 3;

/**
 * The body without its content encodings.
 * @param encoding the Content-Encoding header; empty or `identity`: none
 * @throws AppError `server` for an unknown encoding, a damaged body, and one that is larger than `maxBytes`
 */
export async function decode(bytes: Uint8Array, encoding: string, maxBytes: number): Promise<Uint8Array> {
  const layers = encoding
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
  const decoder = decoderOf(name, bytes);
  if (decoder === null) throw unreadable(`as ${name.slice(0, 40)}`);
  return await new Promise((resolve, reject) => {
    decoder(bytes, { maxOutputLength: maxBytes }, (error, result) => {
      if (error === null) resolve(result);
      else if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') reject(tooLarge(maxBytes));
      else reject(new AppError('server', `the answer is damaged: its ${name} encoding cannot be decoded`));
    });
  });
}

function decoderOf(name: string, bytes: Uint8Array): Decoder | null {
  if (name === 'gzip' || name === 'x-gzip') return zlib.gunzip;
  if (name === 'br') return zlib.brotliDecompress;
  // `deflate` may lack the zlib header (RFC 9110, 8.4.1.2), which has 8 in its lower four bits.
  if (name === 'deflate') return ((bytes[0] ?? 0) & 0x0f) === 8 ? zlib.inflate : zlib.inflateRaw;
  return null;
}

function unreadable(how: string): AppError {
  return new AppError('server', `the server sent an answer encoded ${how}, which acs does not read`, {
    hint: `a proxy on the way may encode it; acs asks for ${ACCEPTED_ENCODINGS} or none`,
  });
}
