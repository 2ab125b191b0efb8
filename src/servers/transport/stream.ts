/**
 * Requests whose body or answer is passed on in parts, for files of any size: only the part on its way is in memory. Each
 * on a connection of its own.
 */
import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isAppError } from '../../errors.ts';
import type { Network } from './network.ts';
import type { Received, Sending } from './straight.ts';

/** Of a call: what is sent in place of its body, and who takes the answer. */
export interface BodyStream {
  upload?: {
    contentType: string;
    /** Null: not known, and not announced. */
    bytes: number | null;
    /** Called for each try. An AppError of it ends the request with this error. */
    parts: () => AsyncIterable<Uint8Array>;
  };
  /** Takes the body of an answer of 2xx, one part after the other, in place of `Answer.bytes`. */
  into?: (part: Uint8Array) => Promise<void>;
  /** Set when a part was taken: the request is not repeated then. */
  hasBegun?: boolean;
}

export async function sendStream(
  network: Network,
  url: string,
  { method, headers, silenceMs, maxBytes, signal }: Sending,
  stream: BodyStream,
): Promise<Received> {
  const { upload } = stream;
  const silence = new Silence(silenceMs);
  const source = upload === undefined ? null : new Source(upload.parts(), silence);
  try {
    const open = network.proxyOf(url) === null ? openStraight : openThroughProxy;
    const response = await open(network, url, {
      method,
      headers: { ...headers, ...ownHeaders(stream) },
      body: source === null ? null : Readable.from(source.parts()),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const isGood = response.statusCode >= 200 && response.statusCode < 300;
    const kept: Uint8Array[] = [];
    let left = maxBytes;
    for await (const part of response.body) {
      silence.hold();
      if (isGood && stream.into !== undefined) {
        stream.hasBegun = true;
        await stream.into(part);
      } else if ((left -= part.length) >= 0) kept.push(part);
      silence.watch();
    }
    return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(kept) };
  } catch (error) {
    if (silence.signal.aborted) throw silence.signal.reason;
    throw isAppError(source?.error) ? source.error : error;
  } finally {
    silence.hold();
  }
}

interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: Readable | null;
  signal: AbortSignal;
}

interface Incoming {
  statusCode: number;
  headers: Received['headers'];
  body: AsyncIterable<Uint8Array>;
}

/** Not by undici, which fails an assertion when a connection ends while the taker of its answer is slow. */
function openStraight(_: Network, url: string, { body, ...options }: Outgoing): Promise<Incoming> {
  const { request: open } = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const request = open(url, { ...options, agent: false });
    request.on('error', reject);
    request.on('response', (response) =>
      resolve({ statusCode: response.statusCode ?? 0, headers: response.headers, body: response }),
    );
    if (body === null) request.end();
    else pipeline(body, request).catch(reject);
  });
}

async function openThroughProxy(network: Network, url: string, outgoing: Outgoing): Promise<Incoming> {
  const dispatcher = await network.dispatcher(url);
  const { origin, pathname, search } = new URL(url);
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  const { statusCode, headers, body } = await dispatcher.request({
    ...{ origin, path: pathname + search },
    ...outgoing,
    ...limits,
  });
  return { statusCode, headers, body: body as AsyncIterable<Uint8Array> };
}

function ownHeaders({ upload }: BodyStream): Record<string, string> {
  return {
    // The length of an encoded answer would not be that of its file.
    'accept-encoding': 'identity',
    ...(upload === undefined ? {} : { 'content-type': upload.contentType }),
    ...(upload?.bytes == null ? {} : { 'content-length': String(upload.bytes) }),
  };
}

/** The silence of the server alone: the time that the source of a body or the taker of an answer needs does not count. */
class Silence {
  readonly #limit = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.watch();
  }

  get signal(): AbortSignal {
    return this.#limit.signal;
  }

  watch(): void {
    clearTimeout(this.#timer);
    const error = Object.assign(new Error(`nothing came for ${this.#ms} ms`), { code: 'ACS_SILENCE' });
    this.#timer = setTimeout(() => this.#limit.abort(error), this.#ms);
    // A source that reads ahead after its request has failed must not keep the process alive.
    this.#timer.unref();
  }

  hold(): void {
    clearTimeout(this.#timer);
  }
}

/** A body: the connection reads the next part when it has sent the one before. */
class Source {
  /** Why reading it has failed. */
  error: unknown = null;
  readonly #parts: AsyncIterable<Uint8Array>;
  readonly #silence: Silence;

  constructor(parts: AsyncIterable<Uint8Array>, silence: Silence) {
    this.#parts = parts;
    this.#silence = silence;
  }

  async *parts(): AsyncGenerator<Uint8Array, void, void> {
    try {
      this.#silence.hold();
      for await (const part of this.#parts) {
        this.#silence.watch();
        yield part;
        this.#silence.hold();
      }
      this.#silence.watch();
    } catch (error) {
      this.error = error;
      throw error;
    }
  }
}
