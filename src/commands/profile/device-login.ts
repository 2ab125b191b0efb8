/** The sign-in in a browser, as a command shows it: the code, the browser, and the wait for the approval. */
import type { Context } from '../../context.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { NewKey } from '../../profiles/resolve.ts';
import { beforeTime } from '../../runs/deadline.ts';
import type { DeviceCode, DeviceFlow, DevicePoll } from '../../servers/device-flow.ts';
import { formatDuration } from '../../text/duration.ts';

/** What an answer `slow_down` adds to the interval (RFC 8628, 3.5), and an answer that did not arrive. */
const SLOWER_MS = 5_000;
const LONGEST_INTERVAL_MS = 60_000;
/** What a poll may take after the end of the code: an answer may arrive slowly and never be complete. */
const LAST_POLL_MS = 90_000;

export interface DeviceLoginOptions {
  /** False: --no-browser. */
  browser: boolean;
}

/** @returns the key that the server has issued. Throws `auth` when it was refused, or not approved in time. */
export async function signInByDevice(ctx: Context, flow: DeviceFlow, options: DeviceLoginOptions): Promise<NewKey> {
  const code = await flow.start();
  ctx.keepSecret(code.device_code);
  await ctx.notice(
    code.needs_code
      ? `to sign in, open ${code.url} in a browser and enter the code ${code.user_code}`
      : `to sign in, open ${code.url} in a browser and check that it shows the code ${code.user_code}`,
  );
  // Not off a terminal: no user would see it.
  if (options.browser && !ctx.offTerminal && !(await ctx.openBrowser(code.url)))
    await ctx.notice('no browser was found; open the address on any device');
  const validity = formatDuration(code.expires_in_ms);
  const progress = await ctx.progress(`waiting for the approval; the code expires after ${validity}`);
  try {
    const report = async (text: string): Promise<void> => {
      progress.hide();
      await ctx.notice(text);
      progress.show();
    };
    const value = await waitForKey(ctx, flow, { code, report });
    ctx.keepSecret(value);
    await progress.done();
    return { from: 'value', value, source: 'device' };
  } catch (error) {
    await progress.fail();
    throw error;
  }
}

interface Wait {
  code: DeviceCode;
  report: (text: string) => Promise<void>;
}

async function waitForKey(ctx: Context, flow: DeviceFlow, { code, report }: Wait): Promise<string> {
  const endsAtMs = ctx.clock.now() + code.expires_in_ms;
  let intervalMs = code.interval_ms;
  let failure: AppError | null = null;
  for (;;) {
    await ctx.clock.sleep(Math.min(intervalMs, Math.max(endsAtMs - ctx.clock.now(), 0)), ctx.signal);
    // The last poll is after the end, so that an approval in the last interval is not lost.
    const isLast = ctx.clock.now() >= endsAtMs;
    const answer = await pollOrFailure(ctx, flow, { code, untilMs: endsAtMs + LAST_POLL_MS });
    if ('status' in answer && answer.status === 'approved') return answer.key;
    if (isAppError(answer) && failure === null && !isLast)
      await report(`${answer.message}; acs goes on asking until the code expires`);
    failure = isAppError(answer) ? answer : null;
    if (isLast) throw failure === null ? expired() : notStored(failure);
    intervalMs = nextInterval(intervalMs, answer);
  }
}

/** An error that passes is returned: the approval can still be read later. */
async function pollOrFailure(
  ctx: Context,
  flow: DeviceFlow,
  { code, untilMs }: { code: DeviceCode; untilMs: number },
): Promise<DevicePoll | AppError> {
  try {
    const answer = await beforeTime(ctx, untilMs - ctx.clock.now(), [flow.poll(code.device_code)]);
    return answer === 'time' ? new AppError('network', 'the server did not complete its answer') : answer;
  } catch (error) {
    if (isAppError(error) && mayPass(error)) return error;
    throw error;
  }
}

function mayPass({ kind, details }: AppError): boolean {
  if (kind === 'server') return details.retryable === true;
  return kind === 'network' || kind === 'rate-limited' || kind === 'unknown-outcome';
}

/** Never shorter than before: a server that gets too many requests refuses the code. */
function nextInterval(beforeMs: number, answer: DevicePoll | AppError): number {
  if (isAppError(answer)) return Math.min(beforeMs + SLOWER_MS, LONGEST_INTERVAL_MS);
  if (answer.status === 'approved') return beforeMs;
  const slowerMs = answer.status === 'slow-down' ? beforeMs + SLOWER_MS : beforeMs;
  return Math.min(Math.max(slowerMs, answer.interval_ms ?? 0), LONGEST_INTERVAL_MS);
}

function expired(): AppError {
  return new AppError('auth', 'the code expired before it was approved', {
    hint: 'nothing was stored; `acs login` requests a new code',
  });
}

/** A poll whose answer was lost changes nothing that a new sign-in would not repeat. */
function notStored(error: AppError): AppError {
  const kind = error.kind === 'unknown-outcome' ? 'network' : error.kind;
  return new AppError(kind, error.message, {
    ...error.details,
    hint: 'nothing was stored; `acs login` requests a new code',
    retryable: true,
    cause: error,
  });
}
