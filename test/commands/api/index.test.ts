import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

type Handler = (request: Seen, response: ServerResponse) => void;

const KEY = 'key-of-the-user-0123456789';

let world: World;
const servers: Server[] = [];

beforeAll(async () => {
  world = await createWorld();
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

afterAll(() => world.close());

/** A server that answers the probe as V1, and everything below /test with the handler. */
async function serve(handler: Handler): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
      const isProbe = !url.startsWith('/test');
      if (!isProbe) seen.push(one);
      if (!isProbe) return handler(one, response);
      sendJson(response, 200, url.startsWith('/openapi') ? { paths: {} } : { items: [], next_page_id: null });
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const at = (url: string, ...args: string[]): Promise<Ended> =>
  world.invoke({ args: ['--base-url', url, 'api', ...args], env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY } });

describe('acs api', () => {
  it('sends the method, the path, the query and the key, and prints the body as it was received', async () => {
    const body = '{"big":12345678901234567890,\n "a" : "é"}';
    const { url, seen } = await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    );

    const { code, out, err } = await at(url, 'get', 'test/a%2Fb?x=1', '-f', 'y=2 3', '-f', 'y=4', '-F', 'z=@name.txt');

    expect({ code, out, err }).toEqual({
      code: 3,
      out: '',
      err: expect.stringContaining('cannot read name.txt') as unknown,
    });
    await writeFile(path.join(world.dir, 'name.txt'), 'text of a file\n');
    const second = await at(url, 'get', 'test/a%2Fb?x=1', '-f', 'y=2 3', '-f', 'y=4', '-F', 'z=@name.txt');
    expect(second).toMatchObject({ code: 0, out: body, err: '' });
    expect(seen.map(({ method, url: target }) => `${method} ${target}`)).toEqual([
      'GET /test/a%2Fb?x=1&y=2+3&y=4&z=text+of+a+file',
    ]);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it('sends typed fields as a JSON object', async () => {
    const { url, seen } = await serve((_, response) => sendJson(response, 200, {}));

    const { code } = await world.invoke({
      args: [
        ...['--base-url', url, 'api', 'POST', '/test', '-f', 'text=true', '-F', 'yes=true', '-F', 'no=false'],
        ...['-F', 'none=null', '-F', 'count=-1.5e2', '-F', 'word=01', '-F', 'api_key=@-'],
        ...['-f', 'a[b][c]=1', '-F', 'list[]=1', '-F', 'list[]=x', '-H', 'X-Trace: 7'],
      ],
      stdin: 'secret-of-stdin\n',
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect(code).toBe(0);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      ...{ text: 'true', yes: true, no: false, none: null, count: -150, word: '01', api_key: 'secret-of-stdin' },
      ...{ a: { b: { c: '1' } }, list: [1, 'x'] },
    });
    expect(seen[0]?.headers).toMatchObject({ 'content-type': 'application/json', 'x-trace': '7' });
  });

  it('sends the content of --input unchanged, and the fields in the query', async () => {
    const { url, seen } = await serve((_, response) => sendJson(response, 200, {}));
    const body = '{ "n": 12345678901234567890 }\n';

    const { code } = await world.invoke({
      args: ['--base-url', url, 'api', 'PUT', '/test', '--input', '-', '-f', 'a=1'],
      stdin: body,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });
    await writeFile(path.join(world.dir, 'note.txt'), 'plain');
    const typed = await at(url, 'POST', '/test', '--input', 'note.txt', '-H', 'Content-Type: text/plain');
    const wrong = await at(url, 'POST', '/test', '--input', 'note.txt');

    expect([code, typed.code, wrong.code]).toEqual([0, 0, 2]);
    expect(seen.map((one) => [one.url, one.body, one.headers['content-type']])).toEqual([
      ['/test?a=1', body, 'application/json'],
      ['/test', 'plain', 'text/plain'],
    ]);
  });

  it('prints binary content byte for byte on a pipe, and makes text safe on a terminal', async () => {
    const bytes = Buffer.from([0, 255, 10, 27, 91, 51, 49, 109, 13, 120]);
    const { url } = await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes),
    );

    const piped = await at(url, 'GET', '/test');
    const shown = await world.invoke({
      args: ['--base-url', url, 'api', 'GET', '/test'],
      columns: 80,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect(piped.bytes).toEqual(bytes);
    expect(shown.out).toBe('\\x00\ufffd\n\\x1b[31m\\rx\n');
  });

  it('indents JSON on a terminal and with --json', async () => {
    const { url } = await serve((_, response) => sendJson(response, 200, { a: '\u009b1' }));
    const document = '{\n  "a": "\\u009b1"\n}\n';

    const shown = await world.invoke({
      args: ['--base-url', url, 'api', 'GET', '/test'],
      columns: 80,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect(shown.out).toBe(document);
    expect((await at(url, 'GET', '/test', '--json')).out).toBe(document);
    expect((await at(url, 'GET', '/test', '--format', 'ndjson')).out).toBe('{"a":"\\u009b1"}\n');
    expect((await at(url, 'GET', '/test', '-q')).code).toBe(2);
  });

  it('fails with --json for an answer that is not JSON, and prints nothing for an empty one', async () => {
    const { url } = await serve(({ method }, response) => {
      if (method === 'DELETE') response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    });

    expect(await at(url, 'GET', '/test', '--json')).toMatchObject({ code: 9, out: '' });
    expect(await at(url, 'GET', '/test')).toMatchObject({ code: 0, out: '<p>' });
    expect(await at(url, 'DELETE', '/test', '--json')).toMatchObject({ code: 0, out: '' });
  });

  it('prints the status line and the headers with --include, without secrets', async () => {
    const { url } = await serve((_, response) =>
      response
        .writeHead(201, { 'content-type': 'text/plain', 'set-cookie': 'id=1', 'x-api-key': 'abc', date: 'today' })
        .end(`your key is ${KEY}`),
    );

    const { code, out } = await at(url, 'POST', '/test', '-i');

    expect(code).toBe(0);
    expect(out).toMatch(/^HTTP\/1\.1 201 Created\ncontent-type: text\/plain\n/);
    expect(out).toContain('set-cookie: <redacted>\nx-api-key: <redacted>\n');
    expect(out).toMatch(/\n\nyour key is <redacted>$/);
  });

  it('redacts secret members of an answer', async () => {
    const body = { id: 'a', session_api_key: 'abcdef123456', nested: [{ token: 't0k3n', next_page_token: 'n' }] };
    const { url } = await serve((_, response) => sendJson(response, 200, body));

    const { out } = await at(url, 'GET', '/test');

    expect(JSON.parse(out)).toEqual({
      id: 'a',
      session_api_key: '<redacted>',
      nested: [{ token: '<redacted>', next_page_token: 'n' }],
    });
  });

  it('prints the body of a failed request, and exits by its status', async () => {
    const { url } = await serve(({ url: target }, response) => {
      const status = Number(/\d+/.exec(target)?.[0]);
      sendJson(response, status, { detail: `answer ${status}` });
    });
    const results = await Promise.all(
      [400, 401, 403, 404, 405, 409, 422, 501].map(async (status) => {
        const { code, out, err } = await at(url, 'POST', `/test/${status}`);
        return [status, code, out === JSON.stringify({ detail: `answer ${status}` }), err.startsWith('error: ')];
      }),
    );

    expect(results).toEqual([
      [400, 2, true, true],
      [401, 4, true, true],
      [403, 4, true, true],
      [404, 5, true, true],
      [405, 12, true, true],
      [409, 6, true, true],
      [422, 2, true, true],
      [501, 12, true, true],
    ]);
  });

  it('prints the body of a failed request neither with --json nor into a file', async () => {
    const { url } = await serve((_, response) => sendJson(response, 404, { detail: 'gone' }));
    await writeFile(path.join(world.dir, 'kept.json'), 'before');

    const asJson = await at(url, 'GET', '/test', '--json');
    const toFile = await at(url, 'GET', '/test', '-o', 'kept.json');

    expect(asJson).toMatchObject({ code: 5, out: '' });
    expect(JSON.parse(asJson.err)).toMatchObject({ error: { code: 'not-found', status: 404 } });
    expect(toFile).toMatchObject({ code: 5, out: '' });
  });

  it('exits with 5 for a HEAD that finds nothing', async () => {
    const { url } = await serve((_, response) => response.writeHead(404).end());

    expect(await at(url, 'HEAD', '/test', '-i')).toMatchObject({ code: 5 });
  });

  it('repeats reads and idempotent writes after 503, and never a POST', async () => {
    let failures = 0;
    const { url, seen } = await serve((_, response) => {
      failures += 1;
      if (failures % 2 === 1) sendJson(response, 503, { detail: 'busy' });
      else sendJson(response, 200, {});
    });

    const codes = [];
    for (const method of ['GET', 'PUT', 'DELETE']) codes.push((await at(url, method, '/test')).code);
    codes.push((await at(url, 'POST', '/test')).code);

    expect(codes).toEqual([0, 0, 0, 9]);
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'PUT', 'PUT', 'DELETE', 'DELETE', 'POST']);
  });

  it('exits with 11 when the answer to a POST is lost', async () => {
    const { url, seen } = await serve((_, response) => response.destroy());

    expect(await at(url, 'POST', '/test')).toMatchObject({ code: 11, out: '' });
    expect(seen).toHaveLength(1);
  });

  it('prints a write with --dry-run instead of sending it, and sends a read', async () => {
    const { url, seen } = await serve((_, response) => sendJson(response, 200, { read: true }));
    await writeFile(path.join(world.dir, 'body.json'), '{"name":"x","api_key":"abcdefgh"}');

    const written = await at(url, 'POST', '/test?a=1', '--input', 'body.json', '--dry-run', '--json');
    const read = await at(url, 'GET', '/test', '--dry-run');

    expect(JSON.parse(written.out)).toEqual({
      dry_run: true,
      requests: [{ method: 'POST', url: `${url}/test?a=1`, body: { name: 'x', api_key: '<redacted>' } }],
    });
    expect(read.out).toBe('{"read":true}');
    expect(seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('logs the request without its secrets with --debug', async () => {
    const { url } = await serve((_, response) => sendJson(response, 200, {}));
    await writeFile(path.join(world.dir, 'key.txt'), 'v3ry-secret-value\n');

    const { code, err } = await at(url, 'POST', '/test', '-F', 'api_key=@key.txt', '--debug');
    const inQuery = await at(url, 'GET', '/test', '-F', 'password=@key.txt', '--debug');

    expect(code).toBe(0);
    expect(err).toContain('> POST');
    expect(err + inQuery.err).not.toContain('v3ry-secret-value');
  });
});

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
    const server = createServer(({ url = '' }, response) => {
      requests.push(url);
      response.end();
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

    const { code, out, err } = await world.invoke({
      args: ['--base-url', url, 'api', ...args],
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect({ code, out, requests }).toEqual({ code: 2, out: '', requests: [] });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\babc\b/);
  });
});

it('acs api exits with 2 for two profiles, and sends nothing', async () => {
  const { url, seen } = await serve((_, response) => sendJson(response, 200, {}));
  for (const name of ['one', 'two']) await world.acs('profile', 'add', name, '--base-url', url, '--no-check');

  expect(await world.invoke({ args: ['-p', 'one,two', 'api', 'GET', '/test'] })).toMatchObject({ code: 2, out: '' });
  expect(seen).toEqual([]);
});

describe('the key', () => {
  it('goes to the own server of an absolute URL', async () => {
    const { url, seen } = await serve((_, response) => sendJson(response, 200, {}));

    expect(await at(url, 'GET', `${url}/test?a=1`)).toMatchObject({ code: 0, out: '{}' });
    expect(seen.map(({ url: target }) => target)).toEqual(['/test?a=1']);
  });

  it('goes to no other origin by a redirect', async () => {
    const other = await serve((_, response) => sendJson(response, 200, { reached: true }));
    const { url } = await serve((_, response) => response.writeHead(302, { location: `${other.url}/test` }).end());

    const { code, out, err } = await at(url, 'GET', '/test');

    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain(`redirects to ${other.url}/test`);
    expect(other.seen).toEqual([]);
  });

  it('follows a redirect of the own origin', async () => {
    const { url, seen } = await serve(({ url: target }, response) => {
      if (target === '/test') response.writeHead(301, { location: '/test/' }).end();
      else sendJson(response, 200, { ok: true });
    });

    expect(await at(url, 'GET', '/test')).toMatchObject({ code: 0, out: '{"ok":true}' });
    expect((await at(url, 'HEAD', '/test')).code).toBe(0);
    expect(seen.map(({ method, url: target }) => `${method} ${target}`)).toEqual([
      ...['GET /test', 'GET /test/', 'HEAD /test', 'HEAD /test/'],
    ]);
  });
});

describe('acs api --paginate', () => {
  const PAGES: Record<string, { items: unknown[]; next: string | null }> = {
    '': { items: [{ id: 'a' }, { id: 'b' }], next: 'p 2' },
    'p 2': { items: [{ id: 'b' }, { id: 'c' }], next: 'p3' },
    p3: { items: [{ id: 'd' }], next: null },
  };
  const pages =
    (name: string): Handler =>
    ({ url }, response) => {
      const page = PAGES[new URL(url, 'http://host').searchParams.get('page_id') ?? ''];
      sendJson(response, 200, { [name]: page?.items, next_page_id: page?.next, total: 9 });
    };

  it.each(['items', 'results'])('prints all pages of %s as one document, without duplicates', async (name) => {
    const { url, seen } = await serve(pages(name));

    const { code, out } = await at(url, 'GET', '/test?limit=2', '--paginate');

    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      [name]: [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }],
      next_page_id: null,
      total: 9,
    });
    expect(seen.map(({ url: target }) => target)).toEqual([
      '/test?limit=2',
      '/test?limit=2&page_id=p+2',
      '/test?limit=2&page_id=p3',
    ]);
  });

  it('prints one item a line with --format ndjson', async () => {
    const { url } = await serve(pages('items'));

    const { out } = await at(url, 'GET', '/test', '--paginate', '--format', 'ndjson');

    expect(out).toBe('{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n{"id":"d"}\n');
  });

  it('ends with an error when a page id is repeated', async () => {
    let count = 0;
    const { url, seen } = await serve((_, response) => {
      count += 1;
      sendJson(response, 200, { items: [{ id: `n${count}` }], next_page_id: 'same' });
    });

    const { code, out, err } = await at(url, 'GET', '/test', '--paginate');

    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain('repeats the page same');
    expect(seen).toHaveLength(2);
  });

  it('exits with 2 for an answer that is no list', async () => {
    const { url } = await serve((_, response) => sendJson(response, 200, { id: 1 }));

    expect(await at(url, 'GET', '/test', '--paginate')).toMatchObject({ code: 2, out: '' });
  });

  it('ends with the error of a page that fails', async () => {
    const { url } = await serve(({ url: target }, response) => {
      if (target.includes('page_id')) sendJson(response, 404, { detail: 'no such page' });
      else sendJson(response, 200, { items: [{ id: 'a' }], next_page_id: '2' });
    });

    const { code, out, err } = await at(url, 'GET', '/test', '--paginate');

    expect({ code, out }).toEqual({ code: 5, out: '' });
    expect(err).toContain('no such page');
  });
});

describe('acs api at the local service', () => {
  it('calls routes of both dialects', async () => {
    const v1 = await world.acs('api', 'GET', '/api/v1/sandbox-specs/search', '--json');
    const v0 = await world.acs('api', 'GET', '/api/conversations', '-f', 'limit=1', '--json');

    expect([v1.code, v0.code]).toEqual([0, 0]);
    expect(JSON.parse(v1.out)).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ id: 'process' })]) as unknown,
    });
    expect(JSON.parse(v0.out)).toMatchObject({ results: [], next_page_id: null });
  });

  it('prints no session key of a sandbox that it starts', async () => {
    const { code, out } = await world.acs('api', 'POST', '/api/v1/sandboxes');

    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ session_api_key: '<redacted>' });
  });
});
