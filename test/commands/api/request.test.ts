import { describe, expect, it } from 'vitest';
import { sendJson, useApiWorld } from './support.ts';

const api = useApiWorld();

describe('acs api refuses before it sends anything', () => {
  const cases: [string, string[], RegExp][] = [
    ['an unknown method', ['BREW', '/test'], /must be one of GET/],
    ['a path that leads up', ['GET', '/test/../x'], /"\.\."/],
    ['an encoded path that leads up', ['GET', '/test/%2E%2e/x'], /"\.\."/],
    ['a path that names a host', ['GET', '//evil.example/x'], /one slash/],
    ['a backslash', ['GET', '/test\\x'], /"\\"/],
    ['a control character', ['GET', '/test\nx'], /U\+000A/],
    ['a fragment', ['GET', '/test#x'], /"#"/],
    ['an empty path', ['GET', ''], /empty/],
    ['a URL of another server', ['GET', 'http://127.0.0.1:1/test'], /active server/],
    ['a URL with a user name', ['GET', 'http://user@127.0.0.1/test'], /active server/],
    ['a secret in -f', ['POST', '/test', '-f', 'api_key=abc'], /api_key is a secret/],
    ['a secret in -F', ['POST', '/test', '-F', 'llm[api_key]=abc'], /is a secret/],
    ['a value in a map of secrets', ['POST', '/test', '-f', 'secrets[NAME]=abc'], /is a secret/],
    ['a secret in a query field', ['GET', '/test', '-f', 'token=abc'], /token is a secret/],
    ['a secret in the query', ['GET', '/test?session_api_key=abc'], /session_api_key is a secret/],
    ['a secret in a header', ['GET', '/test', '-H', 'Authorization: Bearer abc'], /authorization is a secret/],
    ['a header of the connection', ['GET', '/test', '-H', 'Host: other'], /host is set by acs/],
    ['a header with a line feed', ['GET', '/test', '-H', 'X-A: b\r\nX-B: c'], /no header can carry/],
    ['a field without a key', ['POST', '/test', '-f', 'abc'], /key=value/],
    ['a member that is set twice', ['POST', '/test', '-f', 'a=1', '-F', 'a=2'], /another field/],
    ['a number that is not exact', ['POST', '/test', '-F', 'a=12345678901234567890'], /too large/],
    ['--paginate with POST', ['POST', '/test', '--paginate'], /needs GET/],
    ['a body with GET', ['GET', '/test', '--input', '-'], /GET has no body/],
    ['--include with --json', ['GET', '/test', '-i', '--json'], /--include/],
  ];

  it.each(cases)('%s', async (_, args, message) => {
    const requests: string[] = [];
    const url = await api.listen(({ url: target = '' }, response) => {
      requests.push(target);
      response.end();
    });

    const { code, out, err } = await api.at(url, ...args);

    expect({ code, out, requests }).toEqual({ code: 2, out: '', requests: [] });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\babc\b/);
  });
});

it('acs api exits with 2 for two profiles, and sends nothing', async () => {
  const { url, seen } = await api.serve((_, response) => sendJson(response, 200, {}));
  for (const name of ['one', 'two']) await api.world.acs('profile', 'add', name, '--base-url', url, '--no-check');

  expect(await api.world.invoke({ args: ['-p', 'one,two', 'api', 'GET', '/test'] })).toMatchObject({
    code: 2,
    out: '',
  });
  expect(seen).toEqual([]);
});
