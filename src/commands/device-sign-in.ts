/** The device authorization grant of OAuth (RFC 8628), until the sign-in has an outcome. */
import type { Context } from './context.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { DeviceCode, DeviceFlow, DevicePoll } from '../client/device-flow.ts';
import type { NewKey } from '../local/profiles/resolve.ts';
import { formatDuration } from '../base/text/time.ts';
import { beforeTime } from '../runs/deadline.ts';

/** What `slow_down` adds to the interval (RFC 8628, 3.5), and a poll without an answer. */
const SLOWER_MS = 5_000;
const LONGEST_INTERVAL_MS = 60_000;
/** What a poll may take after the code has expired: an answer may never be complete. */
const LAST_POLL_MS = 90_000;

type Poll = DevicePoll | { status: 'lost'; error: AppError; interval_ms: null };

export async function signInByDevice(
  ctx: Context,
  flow: DeviceFlow,
  code: DeviceCode,
): Promise<NewKey> {
  ctx.terminal.keepSecret(code.device_code);
  const action = code.needs_code ? 'enter' : 'check that it shows';
  await ctx.notice(
    `to sign in, open ${code.url} in a browser and ${action} the code ${code.user_code}`,
    'question',
  );
  // Outside a terminal no user would see it.
  if (!ctx.terminal.offTerminal && !(await ctx.terminal.openBrowser(code.url)))
    await ctx.notice('no browser was found; open the address on any device');
  const validity = formatDuration(code.expires_in_ms);
  const progress = await ctx.terminal.progress(
    `waiting for the approval; the code expires after ${validity}`,
  );
  try {
    const key = await pollUntilApproved(ctx, flow, code, async ({ message }) => {
      progress.hide();
      await ctx.notice(`${message}; polling continues until the code expires`);
      progress.show();
    });
    ctx.terminal.keepSecret(key);
    return { from: 'value', value: key, source: 'device' };
  } finally {
    await progress.done();
  }
}

/** @param onLost called for the first of several polls in a row that have no answer */
async function pollUntilApproved(
  ctx: Context,
  flow: DeviceFlow,
  code: DeviceCode,
  onLost: (error: AppError) => Promise<void>,
): Promise<string> {
  const endsAtMs = ctx.clock.now() + code.expires_in_ms;
  const again = { hint: 'nothing was stored; `acs login` requests a new code' };
  let intervalMs = code.interval_ms;
  let previous: Poll['status'] = 'pending';
  for (;;) {
    const leftMs = Math.max(endsAtMs - ctx.clock.now(), 0);
    await ctx.clock.sleep(Math.min(intervalMs, leftMs), ctx.signal);
    // The last poll is after the end, so that an approval in the last interval is not lost.
    const isLast = ctx.clock.now() >= endsAtMs;
    const poll = await pollOnce(ctx, flow, code, endsAtMs + LAST_POLL_MS - ctx.clock.now());
    if (poll.status === 'approved') return poll.key;
    if (isLast && poll.status === 'lost') throw poll.error.with({ ...again, retryable: true });
    if (isLast) throw new AppError('auth', 'the code expired before it was approved', again);
    if (poll.status === 'lost' && previous !== 'lost') await onLost(poll.error);
    previous = poll.status;
    // Never shorter than before: a server that gets too many requests refuses the code.
    const slowerMs = poll.status === 'pending' ? intervalMs : intervalMs + SLOWER_MS;
    intervalMs = Math.min(Math.max(slowerMs, poll.interval_ms ?? 0), LONGEST_INTERVAL_MS);
  }
}

/** `lost`: there is no answer, or one that the next poll may not have. */
async function pollOnce(
  ctx: Context,
  flow: DeviceFlow,
  code: DeviceCode,
  limitMs: number,
): Promise<Poll> {
  const lost = (error: AppError) => ({ status: 'lost', error, interval_ms: null }) as const;
  try {
    const poll = await beforeTime(ctx, limitMs, [flow.poll(code.device_code)]);
    return poll === 'time'
      ? lost(new AppError('network', 'the server did not complete its answer'))
      : poll;
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { kind, message, details } = error;
    // A poll whose answer is lost changes nothing that a new sign-in would not repeat.
    if (kind === 'unknown-outcome') return lost(new AppError('network', message, details));
    const isPassing = ['network', 'rate-limited'].includes(kind);
    if (isPassing || (kind === 'server' && details.retryable)) return lost(error);
    throw error;
  }
}
