import type { AppError } from '../base/errors.ts';

export const RAW_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
export type RawMethod = (typeof RAW_METHODS)[number];

export interface RawCall {
  method: RawMethod;
  path: string;
  /** Lower case. The key of the server is not among them. */
  headers: Readonly<Record<string, string>>;
  body: { contentType: string; bytes: Uint8Array } | null;
}

export interface RawAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  contentType: string;
  bytes: Uint8Array;
  json: unknown;
  error: AppError | null;
}
