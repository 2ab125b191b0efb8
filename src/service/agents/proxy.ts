/** Node 20 has no fetch that uses the proxy of the environment, or whose time-outs can be set. */
import type { Dispatcher, fetch as ProxyFetch } from 'undici';

let loaded: Promise<{ direct: Dispatcher; proxied: Dispatcher; send: typeof ProxyFetch }> | null =
  null;

/** `hasOwnTimeout`: without the limits of fetch, 300 s for the headers and between two pieces. */
export async function fetchByProxy(
  input: Parameters<typeof fetch>[0],
  init?: Parameters<typeof fetch>[1],
  hasOwnTimeout = false,
): Promise<Response> {
  const { href, hostname } = new URL(input instanceof Request ? input.url : input);
  const { env } = process;
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];
  const hasProxy = names.some((name) => env[name]);
  const isDirect = !hasProxy || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname);
  if (isDirect && !hasOwnTimeout) return fetch(input, init);
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  // An agent of one release does not fit the fetch of another.
  loaded ??= import('undici').then(({ Agent, EnvHttpProxyAgent, fetch: send }) => ({
    direct: new Agent(limits),
    proxied: new EnvHttpProxyAgent(limits),
    send,
  }));
  const { direct, proxied, send } = await loaded;
  const options = { ...init, dispatcher: isDirect ? direct : proxied };
  return await send(href, options as Parameters<typeof send>[1]);
}
