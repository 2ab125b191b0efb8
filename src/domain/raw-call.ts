/** A request to the app server as a user writes it, and its answer. */
import type { AppError } from '../errors.ts';

export const RAW_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
export type RawMethod = (typeof RAW_METHODS)[number];

export interface RawCall {
  method: RawMethod;
  /** Below the URL of the server: begins with a slash, has the query. */
  path: string;
  /** Lower case. The key of the server is not among them. */
  headers: Readonly<Record<string, string>>;
  body: { contentType: string; bytes: Uint8Array } | null;
}

/** All of it without secrets. */
export interface RawAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Lower case, without parameters; empty when there is none. */
  contentType: string;
  /** The body as it was received, unless it held a secret. */
  bytes: Uint8Array;
  /** The parsed body; undefined where it is not JSON. */
  json: unknown;
  /** What the status stands for; null: success. */
  error: AppError | null;
}
