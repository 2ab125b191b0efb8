/** One request without a key, for what any answer shows: that the server speaks HTTP, and its clock. */
import { classifyFailure, failureError, peerOf } from '../transport/failure.ts';
import { shownUrl } from '../transport/address.ts';
import type { Network } from '../transport/network.ts';
import type { PlainAnswer } from './reach.ts';
import type { Limits } from './socket.ts';

/** Enough for the page of a frontend; a longer answer is an error of the network module. */
const MOST_BYTES = 16 * 1024 * 1024;

/** @throws AppError `network`, and the reason of the signal */
export async function askPlainly(
  url: string,
  network: Network,
  { timeoutMs, signal, now }: Limits & { now: () => number },
): Promise<PlainAnswer> {
  const sentMs = now();
  // The limit of silence does not end an answer that comes byte by byte.
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const { status, headers } = await network.send(url, 'fresh', {
      method: 'GET',
      headers: { accept: 'application/json', 'user-agent': 'acs' },
      body: null,
      silenceMs: timeoutMs,
      maxBytes: MOST_BYTES,
      signal: AbortSignal.any([signal, late]),
    });
    const one = (name: string): string | null => [headers[name]].flat()[0] ?? null;
    const location = status >= 300 && status < 400 ? one('location') : null;
    return {
      status,
      location: location !== null && URL.canParse(location, url) ? shownUrl(new URL(location, url).href) : null,
      dateMs: one('age') === null ? timeOf(one('date')) : null,
      sentMs,
      receivedMs: now(),
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const silence = Object.assign(new Error(), { code: 'ACS_SILENCE' });
    const peer = peerOf(error, url, network.proxyOf(url));
    throw failureError(classifyFailure(late.aborted ? silence : error, peer, timeoutMs), {});
  }
}

function timeOf(text: string | null): number | null {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? null : ms;
}
