/** Which way requests to a server take: the choice that network.ts makes with undici, with its reason. */
import { AppError } from '../../errors.ts';
import { endpointOf, isLoopback, shownUrl } from '../transport/address.ts';
import type { ProxyRoute, Route } from './reach.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function routeOf(url: string, env: Environment): Route {
  const chosen = proxyVariable(url, env);
  if (chosen === null) return { via: 'direct', because: 'not-set' };
  if (isLoopback(url)) return { via: 'direct', because: 'loopback' };
  if (isExcepted(url, env['no_proxy'] || env['NO_PROXY'] || '')) return { via: 'direct', because: 'no-proxy' };
  return proxyRoute(chosen);
}

/** The first variable that is set, in the order of their precedence; an http server has no use for that of https. */
function proxyVariable(url: string, env: Environment): { variable: string; value: string } | null {
  const http = ['http_proxy', 'HTTP_PROXY'];
  const names = url.startsWith('https:') ? ['https_proxy', 'HTTPS_PROXY', ...http] : http;
  for (const variable of names) {
    const value = env[variable];
    if (value) return { variable, value };
  }
  return null;
}

function proxyRoute({ variable, value }: { variable: string; value: string }): ProxyRoute {
  const hint = `set ${variable} to a URL such as http://proxy.example:3128, or unset it`;
  if (!URL.canParse(value)) throw new AppError('config', `${variable} is not a URL`, { hint });
  const { protocol, username, password } = new URL(value);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new AppError('config', `${variable} names a ${protocol.slice(0, -1)} proxy; acs supports http and https`, {
      hint,
    });
  }
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`;
  return { via: 'proxy', variable, url: shownUrl(value).replace(/\/$/, ''), authorization };
}

/** As undici reads it: names with their subdomains, each with a port or without, or `*`. */
function isExcepted(url: string, noProxy: string): boolean {
  if (noProxy.trim() === '*') return true;
  const { hostname } = new URL(url);
  const serverPort = String(endpointOf(url).port);
  return noProxy
    .split(/[,\s]/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, host = entry, entryPort = serverPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
      const name = host.replace(/^\*?\./, '').toLowerCase();
      return entryPort === serverPort && (hostname === name || hostname.endsWith(`.${name}`));
    });
}
