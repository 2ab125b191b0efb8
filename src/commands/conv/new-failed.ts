/** A start that failed or was not answered: what it leaves on the server, and the error that names it. */
import type { Context } from '../../context.ts';
import { blankConversation } from '../../domain/conversation.ts';
import { AppError, isAppError, READER_GONE } from '../../errors.ts';
import { interruption } from '../../runs/endings.ts';
import type { Server } from '../../servers/server.ts';
import type { Announcer } from './new-announce.ts';
import { afterStopping, type StopOptions } from './new-stop.ts';

type FailedOptions = StopOptions & { announcer: Announcer };

/** What a failed start leaves behind is printed, stopped where a flag requests it, and named in the error. */
export async function afterFailedStart(
  ctx: Context,
  server: Server,
  error: unknown,
  options: FailedOptions,
): Promise<unknown> {
  if (!isAppError(error) || error.exitCode === READER_GONE) return error;
  const { announcer } = options;
  const { id, startTaskId } = announcer;
  // A start that failed, or did not come to its end, may never have created the conversation whose id was printed.
  const byTask = error.kind === 'failed' || error.kind === 'timeout';
  const named = (byTask ? startTaskId || id : id || startTaskId) || null;
  if (named === null) return await afterUnansweredStart(ctx, server, error, options);
  const last = blankConversation(named, 'starting');
  const failure =
    error.kind === 'interrupted'
      ? interruption(error, last)
      : new AppError(error.kind, `${error.message}${mayGoOn(error) ? `; the run may continue as ${named}` : ''}`, {
          ...error.details,
          hint: mayGoOn(error)
            ? `look: acs conv show ${named}   stop it: acs conv stop ${named}`
            : (error.details.hint ?? `see: acs conv show ${named}`),
          data: { ...error.details.data, id, start_task_id: startTaskId },
        });
  const unfinished = { failure, why: error.message, last: { ...last, id: id ?? named } };
  const { end, after } = await afterStopping(ctx, server, unfinished, options);
  await announcer.failed(end, { after });
  return end;
}

/** Failures of requests, whether or not the error names the request. */
const OF_REQUESTS: ReadonlySet<string> = new Set(['server', 'network', 'rate-limited', 'auth', 'unknown-outcome']);
/** The start task ended in error, or the start took too long. */
const OF_STARTS: ReadonlySet<string> = new Set(['failed', 'timeout']);

/**
 * Whether the error is about a request after the accepted start, refused ones included. An error about the start itself
 * names its conversation in `data`.
 */
function mayGoOn({ kind, details }: AppError): boolean {
  const isOfRequest = OF_REQUESTS.has(kind) || (details.request !== undefined && !OF_STARTS.has(kind));
  return isOfRequest && details.data?.['conversation_id'] === undefined;
}

/** Ways to end while the start is out, or its answer was lost or cannot be read. */
const UNANSWERED: ReadonlySet<string> = new Set(['interrupted', 'timeout', 'unknown-outcome', 'server']);

/** The start was out when the signal or the deadline came, or its answer was lost: known by its id, if it was taken. */
async function afterUnansweredStart(
  ctx: Context,
  server: Server,
  error: AppError,
  options: FailedOptions,
): Promise<AppError> {
  const id = error.details.data?.['conversation_id'];
  if (!UNANSWERED.has(error.kind) || typeof id !== 'string') return error;
  const last = blankConversation(id, 'starting');
  const { end, after } = await afterStopping(ctx, server, { failure: error, why: error.message, last }, options);
  await options.announcer.failed(end, { sentId: id, after });
  return end;
}
