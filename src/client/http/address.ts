import { AppError } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/loopback.ts';
import { cut } from '../../base/text/well-formed.ts';

export type Query = Record<
  string,
  string | number | boolean | readonly string[] | null | undefined
>;

export function normalizeBaseUrl(text: string): string {
  if (!URL.canParse(text)) throw new AppError('server', `not a URL: ${cut(text, 200)}`);
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, '');
}

/** Null and undefined members of the query are left out, arrays repeat the name. */
export function buildUrl(baseUrl: string, path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    if (typeof value === 'object') for (const item of value) search.append(name, item);
    else search.append(name, String(value));
  }
  const text = search.toString();
  return baseUrl + path + (text === '' ? '' : `?${text}`);
}

/** The URL without user name, password and the values of parameters that are known to hold keys. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return '(unreadable URL)';
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.hash = '';
  for (const name of new Set(url.searchParams.keys())) {
    if (/^(session_api_key|tkn|token|key|api_key|access_token|secret)$/i.test(name))
      url.searchParams.set(name, '***');
  }
  return url.href;
}

/** The host without the brackets of IPv6, the port also where the scheme has it. */
export function endpointOf(url: string | URL): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  };
}

export function isLoopback(url: string): boolean {
  return isLoopbackHost(endpointOf(url).host);
}
