import { describe, expect, it } from 'vitest';
import { startFake, type Routes } from '../support/server.ts';
import { useWorld, type Ending } from '../support/use-world.ts';
import type { Invocation } from '../support/world.ts';

const KEY = 'app-key-0123456789';
const at = useWorld({
  noun: 'api',
  script: ({ path }) => ({
    json: path.startsWith('/openapi') ? { paths: {} } : { items: [], next_page_id: null },
  }),
});
/** The requests below /test, which are not those of the probe. */
const seen = () => at.server.asked.filter(({ path }) => path.startsWith('/test'));
const lines = () => seen().map(({ method, url }) => `${method} ${url}`);

type Test = Ending & Omit<Invocation, 'args'>;
const OK: Routes = { '/test': { json: {} } };

describe('the request', () => {
  it('has the method, the path, the query and the key, and the body is printed as it was received', async () => {
    const text = '{"big":12345678901234567890,\n "a" : "é"}';
    at.script({ '/test/a%2Fb': { text, type: 'application/json' } });
    const args = ['get', 'test/a%2Fb?x=1', '-f', 'y=2 3', '-f', 'y=4', '-F', 'z=@name.txt'];
    await at.ends(args, { code: 3, out: '', err: 'cannot read name.txt' });
    await at.file('name.txt', 'text of a file\n');
    await at.ends(args, { out: text, err: '' });
    expect(lines()).toEqual(['GET /test/a%2Fb?x=1&y=2+3&y=4&z=text+of+a+file']);
    expect(seen()[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it('has typed fields as a JSON object', async () => {
    at.script(OK);
    const typed = '-F yes=true -F no=false -F none=null -F count=-1.5e2 -F word=01 -F api_key=@-';
    const nested = ['-f', 'a[b][c]=1', '-F', 'list[]=1', '-F', 'list[]=x', '-H', 'X-Trace: 7'];
    await at.ends(['POST', '/test', '-f', 'text=true', ...typed.split(' '), ...nested], {
      stdin: 'secret-of-stdin\n',
    });
    expect(seen()[0]?.body).toEqual({
      text: 'true',
      yes: true,
      no: false,
      none: null,
      count: -150,
      word: '01',
      api_key: 'secret-of-stdin',
      a: { b: { c: '1' } },
      list: [1, 'x'],
    });
    expect(seen()[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-trace': '7',
    });
  });

  it('has the content of --input unchanged, and the fields in the query', async () => {
    at.script(OK);
    const stdin = '{ "n": 12345678901234567890 }\n';
    await at.ends('PUT /test --input - -f a=1', { stdin });
    await at.file('note.txt', 'plain');
    await at.ends(['POST', '/test', '--input', 'note.txt', '-H', 'Content-Type: text/plain'], {});
    await at.ends('POST /test --input note.txt', { code: 2 });
    expect(seen().map(({ url, text, headers }) => [url, text, headers['content-type']])).toEqual([
      ['/test?a=1', stdin, 'application/json'],
      ['/test', 'plain', 'text/plain'],
    ]);
  });

  it('is printed with --dry-run, of any method, and not sent', async () => {
    await at.file('body.json', '{"name":"x","api_key":"abcdefgh"}');
    const url = `${at.server.url}/test`;
    const request = {
      method: 'POST',
      url: `${url}?a=1`,
      body: { name: 'x', api_key: '<redacted>' },
    };
    await at.ends('POST /test?a=1 --input body.json --dry-run --json', {
      out: { dry_run: true, requests: [request] },
    });
    await at.ends('GET /test -f b=2 --dry-run', { out: `GET ${url}?b=2\n` });
    await at.ends('GET /test --paginate --jq .requests[0].method --dry-run', { out: 'GET\n' });
    await at.ends('HEAD /test --dry-run', { out: `HEAD ${url}\n` });
    expect(seen()).toEqual([]);
  });

  it('is in the debug log without its secrets', async () => {
    at.script(OK);
    await at.file('key.txt', 'v3ry-secret-value\n');
    const hides = 'v3ry-secret-value';
    await at.ends('POST /test -F api_key=@key.txt --debug', { err: '> POST', hides });
    await at.ends('GET /test -F password=@key.txt --debug', { hides });
  });

  it('is repeated after 503 where it is a read or idempotent, and never a POST', async () => {
    let failures = 0;
    at.script({
      '/test': () => ((failures += 1) % 2 === 1 ? { status: 503, json: {} } : { json: {} }),
    });
    for (const method of ['GET', 'PUT', 'DELETE']) await at.ends(`${method} /test`, {});
    await at.ends('POST /test', { code: 9 });
    expect(seen().map(({ method }) => method)).toEqual([
      'GET',
      'GET',
      'PUT',
      'PUT',
      'DELETE',
      'DELETE',
      'POST',
    ]);
  });

  it.each<[string, string[], RegExp]>([
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
    [
      'a secret in a header',
      ['GET', '/test', '-H', 'Authorization: Bearer abc'],
      /authorization is a secret/,
    ],
    ['a header of the connection', ['GET', '/test', '-H', 'Host: other'], /host is set by acs/],
    [
      'a header with a line feed',
      ['GET', '/test', '-H', 'X-A: b\r\nX-B: c'],
      /no header can carry/,
    ],
    ['a field without a key', ['POST', '/test', '-f', 'abc'], /key=value/],
    ['a member that is set twice', ['POST', '/test', '-f', 'a=1', '-F', 'a=2'], /another field/],
    ['a number that is not exact', ['POST', '/test', '-F', 'a=12345678901234567890'], /too large/],
    ['--paginate with POST', ['POST', '/test', '--paginate'], /needs GET/],
    ['a body with GET', ['GET', '/test', '--input', '-'], /GET has no body/],
    ['--include with --json', ['GET', '/test', '-i', '--json'], /--include/],
  ])('with %s is refused before anything is sent', async (_, args, err) => {
    const ended = await at.ends(args, { code: 2, out: '', requests: 0, hides: /\babc\b/ });
    expect(ended.err).toMatch(err);
  });
});

describe('the answer', () => {
  const ESCAPED = '{\n  "a": "\\u009b1"\n}\n';
  const answered: Record<string, [Routes, string, Test]> = {
    'is indented on a terminal where it is JSON': [
      { '/test': { json: { a: '\u009b1' } } },
      'GET /test',
      { columns: 80, out: ESCAPED },
    ],
    'is indented with --json': [
      { '/test': { json: { a: '\u009b1' } } },
      'GET /test --json',
      { out: ESCAPED },
    ],
    'is one line as ndjson': [
      { '/test': { json: { a: '\u009b1' } } },
      'GET /test --format ndjson',
      { out: '{"a":"\\u009b1"}\n' },
    ],
    'has no ids': [OK, 'GET /test -q', { code: 2 }],
    'is exit 9 with --json where it is not JSON': [
      { '/test': { text: '<p>', type: 'text/html' } },
      'GET /test --json',
      { code: 9, out: '' },
    ],
    'is printed where it is not JSON': [
      { '/test': { text: '<p>', type: 'text/html' } },
      'GET /test',
      { out: '<p>' },
    ],
    'prints nothing where it is empty': [
      { '/test': { status: 204, none: true } },
      'DELETE /test --json',
      { out: '' },
    ],
    'has its secret members redacted': [
      {
        '/test': {
          json: {
            id: 'a',
            session_api_key: 'abc123',
            nested: [{ token: 't0k3n', next_page_token: 'n' }],
          },
        },
      },
      'GET /test',
      {
        out: {
          id: 'a',
          session_api_key: '<redacted>',
          nested: [{ token: '<redacted>', next_page_token: 'n' }],
        },
        hides: /abc123|t0k3n/,
      },
    ],
    'that is an error is not printed with --json': [
      { '/test': { status: 404, json: { detail: 'gone' } } },
      'GET /test --json',
      { code: 5, out: '', err: /"code":"not-found".*"status":404/ },
    ],
    'that is an error is not written into a file': [
      { '/test': { status: 404, json: { detail: 'gone' } } },
      'GET /test -o kept.json',
      { code: 5, out: '' },
    ],
    'to a HEAD that finds nothing is exit 5': [
      { '/test': { status: 404, none: true } },
      'HEAD /test -i',
      { code: 5 },
    ],
    'that is lost after a POST is exit 11': [
      { '/test': { cut: true } },
      'POST /test',
      { code: 11, out: '' },
    ],
  };
  it.each(Object.entries(answered))('%s', async (_, [server, line, ending]) => {
    at.script(server);
    await at.ends(line, ending);
    expect(seen().length).toBeLessThanOrEqual(1);
  });

  it('is printed byte for byte on a pipe, and as safe text on a terminal', async () => {
    const bytes = Buffer.from([0, 255, 10, 27, 91, 51, 49, 109, 13, 120]);
    at.script({ '/test': { text: bytes, type: 'application/octet-stream' } });
    expect((await at.ends('GET /test', {})).bytes).toEqual(bytes);
    await at.ends('GET /test', { columns: 80, out: '\\x00\ufffd\n\\x1b[31m\\rx\n' });
  });

  it('has its status line and headers with --include, without secrets', async () => {
    const headers = { 'set-cookie': 'id=1', 'x-api-key': 'abc', date: 'today' };
    at.script({
      '/test': { status: 201, text: `your key is ${KEY}`, type: 'text/plain', headers },
    });
    const { out } = await at.ends('POST /test -i', {});
    expect(out).toMatch(/^HTTP\/1\.1 201 Created\ncontent-type: text\/plain\n/);
    expect(out).toContain('set-cookie: <redacted>\nx-api-key: <redacted>\n');
    expect(out).toMatch(/\n\nyour key is <redacted>$/);
  });

  it.each([
    [400, 2],
    [401, 4],
    [403, 4],
    [404, 5],
    [405, 12],
    [409, 6],
    [422, 2],
    [501, 12],
  ])('of status %i is printed, and the exit code is %i', async (status, code) => {
    const json = { detail: `answer ${status}` };
    at.script({ '/test': { status, json } });
    await at.ends('POST /test', { code, out: JSON.stringify(json), err: 'error: ' });
  });
});

describe('the key', () => {
  it('goes to the own server of an absolute URL', async () => {
    at.script(OK);
    await at.ends(`GET ${at.server.url}/test?a=1`, { out: '{}' });
    expect(lines()).toEqual(['GET /test?a=1']);
  });

  it('goes to no other origin by a redirect', async () => {
    const other = await startFake(() => ({ json: { reached: true } }));
    at.script({ '/test': { status: 302, headers: { location: `${other.url}/test` }, none: true } });
    await at.ends('GET /test', { code: 9, out: '', err: `redirects to ${other.url}/test` });
    await other.close();
    expect(other.asked).toEqual([]);
  });

  it('follows a redirect of the own origin', async () => {
    at.script({
      '/test': { status: 301, headers: { location: '/test/' }, none: true },
      '/test/': { json: { ok: true } },
    });
    await at.ends('GET /test', { out: '{"ok":true}' });
    await at.ends('HEAD /test', {});
    expect(lines()).toEqual(['GET /test', 'GET /test/', 'HEAD /test', 'HEAD /test/']);
  });
});

describe('--paginate', () => {
  const PAGES: Record<string, { items: unknown[]; next: string | null }> = {
    '': { items: [{ id: 'a' }, { id: 'b' }], next: 'p 2' },
    'p 2': { items: [{ id: 'b' }, { id: 'c' }], next: 'p3' },
    p3: { items: [{ id: 'd' }], next: null },
  };
  const pages = (name: string): Routes => ({
    '/test': ({ query }) => {
      const page = PAGES[query.get('page_id') ?? ''];
      return { json: { [name]: page?.items, next_page_id: page?.next, total: 9 } };
    },
  });

  it.each(['items', 'results'])(
    'prints all pages of %s as one document, without duplicates',
    async (name) => {
      at.script(pages(name));
      const { out } = await at.ends('GET /test?limit=2 --paginate', {});
      const all = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
      expect(JSON.parse(out)).toEqual({ [name]: all, next_page_id: null, total: 9 });
      expect(lines()).toEqual(
        ['', '&page_id=p+2', '&page_id=p3'].map((page) => `GET /test?limit=2${page}`),
      );
    },
  );

  const rows: Record<string, [Routes, Test, string?]> = {
    'prints one item a line with --format ndjson': [
      pages('items'),
      { out: '{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n{"id":"d"}\n' },
      '--format ndjson',
    ],
    'exits 9 when a page id is repeated': [
      { '/test': () => ({ json: { items: [{ id: `n${seen().length}` }], next_page_id: 'same' } }) },
      { code: 9, out: '', err: 'repeats the page same' },
    ],
    'exits 2 for an answer that is not a list': [
      { '/test': { json: { id: 1 } } },
      { code: 2, out: '' },
    ],
    'exits with the code of a page that fails': [
      {
        '/test': ({ query }) =>
          query.has('page_id')
            ? { status: 404, json: { detail: 'no such page' } }
            : { json: { items: [{ id: 'a' }], next_page_id: '2' } },
      },
      { code: 5, out: '', err: 'no such page' },
    ],
  };
  it.each(Object.entries(rows))('%s', async (_, [server, ending, flags = '']) => {
    at.script(server);
    await at.ends(`GET /test --paginate ${flags}`, ending);
    expect(seen().length).toBeLessThanOrEqual(3);
  });
});

describe('acs api at the local service', () => {
  const local = useWorld({ spec: 'process', noun: 'api' });

  it('calls routes of both dialects', async () => {
    const { items } = await local.json<{ items: { id: string }[] }>(
      'GET /api/v1/sandbox-specs/search',
    );
    expect(items.map(({ id }) => id)).toContain('process');
    await local.ends('GET /api/conversations -f limit=1 --json', {
      out: { results: [], next_page_id: null },
    });
  });

  it('prints no session key of a sandbox that it starts', async () => {
    await local.ends('POST /api/v1/sandboxes', { out: { session_api_key: '<redacted>' } });
  });
});
