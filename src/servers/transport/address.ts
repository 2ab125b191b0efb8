/** URLs: built, compared and made fit to be shown. */
import { AppError } from '../../errors.ts';

export type QueryValue = string | number | boolean | readonly string[] | null | undefined;
export type Query = Record<string, QueryValue>;

/** Origin and path prefix without a trailing slash. Throws AppError `config` for other texts than an http(s) URL. */
export function normalizeBaseUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new AppError('config', `not a URL: ${text.slice(0, 200)}`, { hint: 'give one like https://host:3000' });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('config', `only http and https URLs name a server, not ${url.protocol}//`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new AppError('config', 'the server URL carries a user name or password', {
      hint: 'leave it out of the URL and give the key with --api-key-file or a profile',
    });
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** The whole URL of a call; null and undefined members of the query are left out, arrays repeat the name. */
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

const SECRET_PARAMETERS = /^(session_api_key|tkn|token|key|api_key|access_token|secret)$/i;

/** The URL without user name, password and the values of parameters that are known to hold keys. */
export function shownUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return '(unreadable URL)';
  }
  url.username = '';
  url.password = '';
  url.hash = '';
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_PARAMETERS.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}

/** Where a connection for this URL leads: the host without the brackets of IPv6, the port also where the scheme has it. */
export function endpointOf(url: string | URL): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** Whether a request to this host stays on the machine: such a request never goes through a proxy. */
export function isLoopback(url: string): boolean {
  const { host } = endpointOf(url);
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
