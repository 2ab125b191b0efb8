/** Node 20 has no fetch that uses the proxy of the environment. */
import type { EnvHttpProxyAgent, fetch as ProxyFetch } from 'undici';

let loaded: Promise<{ dispatcher: EnvHttpProxyAgent; send: typeof ProxyFetch }> | null = null;

/** As fetch, through the proxy that the environment names. Loopback is reached directly. */
export async function fetchByProxy(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const { href, hostname } = new URL(input instanceof Request ? input.url : input);
  const { env } = process;
  const isNamed = [env['HTTP_PROXY'], env['http_proxy'], env['HTTPS_PROXY'], env['https_proxy']].some(Boolean);
  if (!isNamed || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname)) return fetch(input, init);
  // Its own fetch: an agent of one release does not fit the fetch of another.
  loaded ??= import('undici').then(({ EnvHttpProxyAgent, fetch: send }) => ({
    dispatcher: new EnvHttpProxyAgent(),
    send,
  }));
  const { dispatcher, send } = await loaded;
  const given = { ...init, dispatcher } as Parameters<typeof send>[1];
  return await send(href, given);
}
