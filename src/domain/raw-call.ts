import type { AppError } from '../base/errors.ts';

export const RAW_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
export type RawMethod = (typeof RAW_METHODS)[number];

export interface RawCall {
  method: RawMethod;
  /** Below the URL of the server, with the query. */
  path: string;
  /** Lower case. The key of the server is not among them. */
  headers: Readonly<Record<string, string>>;
  body: { contentType: string; bytes: Uint8Array } | null;
}

/** Without secrets. */
export interface RawAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Without parameters; empty when there is none. */
  contentType: string;
  bytes: Uint8Array;
  /** Undefined where the body is not JSON. */
  json: unknown;
  /** Null: success. */
  error: AppError | null;
}
