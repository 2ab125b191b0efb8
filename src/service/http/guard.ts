/** Who may send a request: `Host`, `Origin` and the key. App server and agent server use the same rules. */
import { timingSafeEqual } from 'node:crypto';

/** Compares keys in constant time. */
export function isKey(given: string | undefined | null, key: string): boolean {
  if (given == null) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(key)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Why a request is refused, as the text of a 403; null: it is not. A page in a browser must not reach the service, neither
 * by a name that resolves to this machine nor as a foreign origin.
 * @param configured the name or address that the server listens on
 */
export function forbidden(host: string | undefined, origin: string | undefined, configured: string): string | null {
  if (!isOwnHost(host ?? '', configured)) return 'Host not allowed';
  return origin === undefined || isOwnOrigin(origin, configured) ? null : 'Origin not allowed';
}

/** An address cannot be rebound, a name can: of names only `localhost` and the configured one are accepted. */
function isOwnHost(host: string, configured: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
  return isAddress || name === 'localhost' || name === configured.toLowerCase();
}

/** A page may be served from any address: only the loopback addresses and the configured name are accepted. */
function isOwnOrigin(origin: string, configured: string): boolean {
  const host = /^https?:\/\/(.*)$/i.exec(origin)?.[1];
  if (host === undefined || !isOwnHost(host, configured)) return false;
  const name = host.replace(/:\d+$/, '');
  return /^localhost$/i.test(name) || /^127(?:\.\d+){3}$/.test(name) || name === '[::1]' || name === configured;
}
