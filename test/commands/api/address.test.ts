import { describe, expect, it } from 'vitest';
import { sendJson, useApiWorld } from './support.ts';

const api = useApiWorld();

describe('the key', () => {
  it('goes to the own server of an absolute URL', async () => {
    const { url, seen } = await api.serve((_, response) => sendJson(response, 200, {}));

    expect(await api.at(url, 'GET', `${url}/test?a=1`)).toMatchObject({ code: 0, out: '{}' });
    expect(seen.map(({ url: target }) => target)).toEqual(['/test?a=1']);
  });

  it('goes to no other origin by a redirect', async () => {
    const other = await api.serve((_, response) => sendJson(response, 200, { reached: true }));
    const { url } = await api.serve((_, response) => response.writeHead(302, { location: `${other.url}/test` }).end());

    const { code, out, err } = await api.at(url, 'GET', '/test');

    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain(`redirects to ${other.url}/test`);
    expect(other.seen).toEqual([]);
  });

  it('follows a redirect of the own origin', async () => {
    const { url, seen } = await api.serve(({ url: target }, response) => {
      if (target === '/test') response.writeHead(301, { location: '/test/' }).end();
      else sendJson(response, 200, { ok: true });
    });

    expect(await api.at(url, 'GET', '/test')).toMatchObject({ code: 0, out: '{"ok":true}' });
    expect((await api.at(url, 'HEAD', '/test')).code).toBe(0);
    expect(seen.map(({ method, url: target }) => `${method} ${target}`)).toEqual([
      ...['GET /test', 'GET /test/', 'HEAD /test', 'HEAD /test/'],
    ]);
  });
});
