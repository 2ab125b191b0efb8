import type { Query } from './address.ts';

/** A body or an answer that is passed on in parts. The request has a connection of its own. */
export interface BodyStream {
  upload?: {
    contentType: string;
    bytes: number | null;
    parts: () => AsyncIterable<Uint8Array>;
  };
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
  stream?: BodyStream;
  headers?: Readonly<Record<string, string>>;
  /** A request timeout given by the user wins. */
  timeoutMs?: number;
  maxBytes?: number;
  /** `read`: is sent in a dry run. `idempotent`: may be repeated. `once`: may not. */
  safe: 'read' | 'idempotent' | 'once';
  inDryRun?: 'printed';
  /** Default: `json`. `any`: an answer of any status is returned, and changes no facts. */
  expect?: 'json' | 'bytes' | 'any';
  /** The presence of the route is unknown: a 404 or 405 does not contradict the cached facts. */
  mayBeMissing?: boolean;
  accept?: readonly number[];
  delivery?: Delivery;
}

/** GET by default. GET, HEAD and OPTIONS are `read`, PUT and DELETE `idempotent`, others `once`. */
export type CallOptions = Omit<Call, 'method' | 'safe'> & Partial<Pick<Call, 'method' | 'safe'>>;

/** Whether a server may act on a request: false before it is sent, and after a refusal. */
export interface Delivery {
  isPossible: boolean;
}
