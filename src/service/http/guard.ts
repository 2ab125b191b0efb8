import { timingSafeEqual } from 'node:crypto';

export function isKey(given: string | undefined | null, key: string): boolean {
  if (given == null) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(key)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The text of a 403 against foreign origins and DNS rebinding; null: not refused. */
export function forbidden(
  host: string | undefined,
  origin: string | undefined,
  configured: string,
): string | null {
  if (!isOwnHost(host ?? '', configured)) return 'Host not allowed';
  if (origin === undefined) return null;
  // A page may come from any address: only loopback and the configured name are accepted.
  const from = /^https?:\/\/(.*)$/i.exec(origin)?.[1] ?? '';
  const name = from.replace(/:\d+$/, '');
  const isLoopback =
    /^localhost$/i.test(name) || /^127(?:\.\d+){3}$/.test(name) || name === '[::1]';
  return isOwnHost(from, configured) && (isLoopback || name === configured)
    ? null
    : 'Origin not allowed';
}

/** A name can be rebound, an address cannot. */
function isOwnHost(host: string, configured: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
  return isAddress || name === 'localhost' || name === configured.toLowerCase();
}
