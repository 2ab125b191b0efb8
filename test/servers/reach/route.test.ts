import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/servers/reach/route.ts';
import { createNetwork } from '../../../src/servers/transport/network.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';
import { proxyServer } from '../../commands/doctor/support.ts';

const URL_OF_SERVER = 'http://acs.sub.invalid:8123/base';

/** Whether a request goes through the proxy: a name that ends in .invalid leads nowhere without one. */
async function goesThroughProxy(noProxy: string): Promise<boolean> {
  const proxy = await proxyServer(403);
  const env = { http_proxy: proxy.url, no_proxy: noProxy };
  const network = createNetwork({ env, connectTimeoutMs: 5000, redaction: createRedaction([]) });
  const sending = { method: 'GET', headers: {}, body: null, silenceMs: 5000, maxBytes: 1000 };
  await network
    .send(URL_OF_SERVER, 'fresh', { ...sending, signal: new AbortController().signal })
    .catch(() => undefined);
  await network.close();
  await proxy.close();
  return proxy.asked.length > 0;
}

describe('the route to a server', () => {
  it.each([
    ...['', 'other.invalid', 'sub.invalid', '.sub.invalid', '*.invalid', 'acs.sub.invalid', 'ACS.SUB.INVALID', '*'],
    ...[
      'cs.sub.invalid',
      'acs.sub.invalid:8123',
      'acs.sub.invalid:80',
      'one.invalid, acs.sub.invalid',
      'a b sub.invalid',
    ],
  ])('is the one that requests take with NO_PROXY=%s', async (noProxy) => {
    const route = routeOf(URL_OF_SERVER, { http_proxy: 'http://127.0.0.1:1', no_proxy: noProxy });
    expect(route.via === 'proxy').toBe(await goesThroughProxy(noProxy));
  });

  it('is named by the variable that decides, without user name and password', () => {
    const env = { HTTP_PROXY: 'http://one:3128', HTTPS_PROXY: 'http://me:hush@two:3128', https_proxy: '' };
    expect(routeOf('http://acs.invalid', env)).toMatchObject({ variable: 'HTTP_PROXY', authorization: null });
    expect(routeOf('https://acs.invalid', env)).toEqual({
      via: 'proxy',
      variable: 'HTTPS_PROXY',
      url: 'http://two:3128',
      authorization: `Basic ${Buffer.from('me:hush').toString('base64')}`,
    });
    expect(routeOf('https://acs.invalid', { http_proxy: 'http://one:3128' })).toMatchObject({ variable: 'http_proxy' });
    expect(routeOf('https://acs.invalid', {})).toEqual({ via: 'direct', because: 'not-set' });
    expect(routeOf('http://localhost:1', env)).toEqual({ via: 'direct', because: 'loopback' });
  });
});
