import { REDACTED } from '../../text/secret-names.ts';
import type { Call } from './call.ts';
import type { Redaction } from './redaction.ts';

/** The body of a call as it may be shown; null without one. */
export function shownBody({ body, raw, hidden = [] }: Call, redaction: Redaction): unknown {
  if (raw !== undefined && body === undefined) return `(${raw.bytes.length} bytes, ${raw.contentType})`;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return redaction.value(body ?? null);
  const masked = Object.fromEntries(hidden.filter((name) => name in body).map((name) => [name, REDACTED]));
  return redaction.value({ ...body, ...masked });
}

/** What `--dry-run` throws instead of a request that writes. */
const TAG = 'acs.DryRunStop';

export interface PlannedRequest {
  method: string;
  url: string;
  /** JSON body with its secrets redacted; null without a body. */
  body: unknown;
}

export class DryRunStop extends Error {
  readonly tag = TAG;
  readonly requests: PlannedRequest[];

  constructor(requests: PlannedRequest[]) {
    super('a dry run stops before the first request that writes');
    this.name = 'DryRunStop';
    this.requests = requests;
  }
}

/** Recognised by the tag: the build may hold this module in more than one chunk. */
export function isDryRunStop(error: unknown): error is DryRunStop {
  return error instanceof Error && (error as { tag?: unknown }).tag === TAG;
}

/** The requests a task stops at in a dry run; a task that ends without one has none. */
export async function plannedRequests(task: () => Promise<unknown>): Promise<PlannedRequest[]> {
  try {
    await task();
    return [];
  } catch (error) {
    if (!isDryRunStop(error)) throw error;
    return error.requests;
  }
}
