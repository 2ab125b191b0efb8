/** Node 20 has no fetch that uses the proxy of the environment, or whose time-outs can be set. */
import type { Dispatcher, fetch as ProxyFetch } from 'undici';

let loaded: Promise<{ direct: Dispatcher; proxied: Dispatcher; send: typeof ProxyFetch }> | null =
  null;

/**
 * As fetch, through the proxy that the environment names. Loopback is reached directly.
 * @param hasOwnTimeout without the time-outs of fetch: 300 s for the headers, and as long between
 * two pieces of the body
 */
export async function fetchByProxy(
  input: Parameters<typeof fetch>[0],
  init?: Parameters<typeof fetch>[1],
  hasOwnTimeout = false,
): Promise<Response> {
  const { href, hostname } = new URL(input instanceof Request ? input.url : input);
  const { env } = process;
  const isNamed = [
    env['HTTP_PROXY'],
    env['http_proxy'],
    env['HTTPS_PROXY'],
    env['https_proxy'],
  ].some(Boolean);
  const isDirect = !isNamed || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname);
  if (isDirect && !hasOwnTimeout) return fetch(input, init);
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  // Its own fetch: an agent of one release does not fit the fetch of another.
  loaded ??= import('undici').then(({ Agent, EnvHttpProxyAgent, fetch: send }) => ({
    direct: new Agent(limits),
    proxied: new EnvHttpProxyAgent(limits),
    send,
  }));
  const { direct, proxied, send } = await loaded;
  const given = { ...init, dispatcher: isDirect ? direct : proxied } as Parameters<typeof send>[1];
  return await send(href, given);
}
