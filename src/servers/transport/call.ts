/** What a request is and what a transport needs. */
import type { AppError, RequestDetails } from '../../errors.ts';
import type { Query } from './address.ts';
import type { Answer } from './answer.ts';
import type { Network } from './network.ts';
import type { Pace } from './pace.ts';
import type { BodyStream } from './stream.ts';
import type { Clock } from '../../clock.ts';

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';
  /** Begins with a slash; its parts already encoded. */
  path: string;
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Members of the body that are secrets although their names do not show it, as `value`. Never printed. */
  hidden?: readonly string[];
  /** Sent as it is; `body` is then only what a dry run and --debug print. */
  raw?: { contentType: string; bytes: Uint8Array };
  /** Besides those of the transport, which take precedence. Lower case. */
  headers?: Readonly<Record<string, string>>;
  /** A body, or an answer, of any size; `body` is then only what a dry run and --debug print. */
  stream?: BodyStream;
  /** Longer than usual, where a server answers only after a step; a request timeout given by the user wins. */
  timeoutMs?: number;
  /** The most bytes of its answer; default: by `expect`, see MOST_BYTES. */
  maxBytes?: number;
  /** `read`: changes nothing, goes out in a dry run. `idempotent`: may be repeated. `once`: may not. */
  safe: 'read' | 'idempotent' | 'once';
  /** Of a read that the user wrote: a dry run prints it as it does the others, and sends nothing. */
  inDryRun?: 'printed';
  /**
   * What a good answer is: JSON (the default), or any bytes. `any`: each answer is returned, whatever its status, and
   * changes no facts of the server; `Answer.error` is the error that it stands for.
   */
  expect?: 'json' | 'bytes' | 'any';
  /** The presence of the route is unknown: a 404 or 405 does not contradict the cached facts. */
  mayBeMissing?: boolean;
  /** Statuses that are given back instead of thrown. */
  accept?: readonly number[];
  /** Set by the transport, for callers that need it after an aborted request. */
  delivery?: Delivery;
}

/** Whether a server may act on a request: false before it is sent, and after a refusal that it is repeated for. */
export interface Delivery {
  isPossible: boolean;
}

export interface TransportOptions {
  network: Network;
  baseUrl: string;
  headers: Record<string, string>;
  pace: Pace;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  /** Given by the user; undefined: 30 s, or the value of the call. */
  requestTimeoutMs?: number;
  log?: (line: string) => void;
  /** Called when a request waits long because of the rate limit of the server. */
  notice?: (text: string) => void;
  /** Makes the error of a 401 or 403: whether the key is refused is judged by a probe, not by any answer. */
  refused: (answer: Answer, details: RequestDetails) => Promise<AppError>;
  /**
   * Called for a 404, 405, 422 or HTML answer, which may contradict cached facts. Returns the error when that is why.
   */
  surprised?: () => Promise<AppError | null>;
}
