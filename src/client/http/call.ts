import type { Query } from './address.ts';

/** A body or an answer that is passed on in parts. The request has a connection of its own. */
export interface BodyStream {
  upload?: {
    contentType: string;
    /** Null: not known, and not announced. */
    bytes: number | null;
    /** Called for each try. An AppError of it ends the request with this error. */
    parts: () => AsyncIterable<Uint8Array>;
  };
  /** Receives the body of an answer of 2xx in place of `Answer.bytes`. */
  into?: (part: Uint8Array) => Promise<void>;
  /** Set when a part was received: the request is not repeated then. */
  hasBegun?: boolean;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';
  /** Begins with a slash; its parts already encoded. */
  path: string;
  query?: Query;
  body?: unknown;
  /** Members of the body that are secrets although their names do not show it. */
  hidden?: readonly string[];
  /** Sent as it is; `body` is then only what a dry run and --debug print. */
  raw?: { contentType: string; bytes: Uint8Array };
  /** `body` is then only what a dry run and --debug print. */
  stream?: BodyStream;
  /** Besides those of the transport, which take precedence. Lower case. */
  headers?: Readonly<Record<string, string>>;
  /** A request timeout given by the user wins. */
  timeoutMs?: number;
  maxBytes?: number;
  /**
   * `read`: changes nothing, is sent in a dry run. `idempotent`: may be repeated. `once`: may not.
   */
  safe: 'read' | 'idempotent' | 'once';
  /** A dry run prints this read, and sends nothing. */
  inDryRun?: 'printed';
  /**
   * Default: `json`. `any`: each answer is returned, whatever its status, and changes no facts of
   * the server.
   */
  expect?: 'json' | 'bytes' | 'any';
  /** The presence of the route is unknown: a 404 or 405 does not contradict the cached facts. */
  mayBeMissing?: boolean;
  accept?: readonly number[];
  delivery?: Delivery;
}

/**
 * Whether a server may act on a request: false before it is sent, and after a refusal that it is
 * repeated for.
 */
export interface Delivery {
  isPossible: boolean;
}
