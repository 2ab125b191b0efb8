import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { KEY, sendJson, useApiWorld } from './support.ts';

const api = useApiWorld();

describe('acs api', () => {
  it('sends the method, the path, the query and the key, and prints the body as it was received', async () => {
    const body = '{"big":12345678901234567890,\n "a" : "é"}';
    const { url, seen } = await api.serve((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    );

    const { code, out, err } = await api.at(
      url,
      'get',
      'test/a%2Fb?x=1',
      '-f',
      'y=2 3',
      '-f',
      'y=4',
      '-F',
      'z=@name.txt',
    );

    expect({ code, out, err }).toEqual({
      code: 3,
      out: '',
      err: expect.stringContaining('cannot read name.txt') as unknown,
    });
    await writeFile(path.join(api.world.dir, 'name.txt'), 'text of a file\n');
    const second = await api.at(url, 'get', 'test/a%2Fb?x=1', '-f', 'y=2 3', '-f', 'y=4', '-F', 'z=@name.txt');
    expect(second).toMatchObject({ code: 0, out: body, err: '' });
    expect(seen.map(({ method, url: target }) => `${method} ${target}`)).toEqual([
      'GET /test/a%2Fb?x=1&y=2+3&y=4&z=text+of+a+file',
    ]);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it('sends typed fields as a JSON object', async () => {
    const { url, seen } = await api.serve((_, response) => sendJson(response, 200, {}));

    const { code } = await api.world.invoke({
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
    const { url, seen } = await api.serve((_, response) => sendJson(response, 200, {}));
    const body = '{ "n": 12345678901234567890 }\n';

    const { code } = await api.world.invoke({
      args: ['--base-url', url, 'api', 'PUT', '/test', '--input', '-', '-f', 'a=1'],
      stdin: body,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });
    await writeFile(path.join(api.world.dir, 'note.txt'), 'plain');
    const typed = await api.at(url, 'POST', '/test', '--input', 'note.txt', '-H', 'Content-Type: text/plain');
    const wrong = await api.at(url, 'POST', '/test', '--input', 'note.txt');

    expect([code, typed.code, wrong.code]).toEqual([0, 0, 2]);
    expect(seen.map((one) => [one.url, one.body, one.headers['content-type']])).toEqual([
      ['/test?a=1', body, 'application/json'],
      ['/test', 'plain', 'text/plain'],
    ]);
  });

  it('prints binary content byte for byte on a pipe, and makes text safe on a terminal', async () => {
    const bytes = Buffer.from([0, 255, 10, 27, 91, 51, 49, 109, 13, 120]);
    const { url } = await api.serve((_, response) =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes),
    );

    const piped = await api.at(url, 'GET', '/test');
    const shown = await api.world.invoke({
      args: ['--base-url', url, 'api', 'GET', '/test'],
      columns: 80,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect(piped.bytes).toEqual(bytes);
    expect(shown.out).toBe('\\x00\ufffd\n\\x1b[31m\\rx\n');
  });

  it('indents JSON on a terminal and with --json', async () => {
    const { url } = await api.serve((_, response) => sendJson(response, 200, { a: '\u009b1' }));
    const document = '{\n  "a": "\\u009b1"\n}\n';

    const shown = await api.world.invoke({
      args: ['--base-url', url, 'api', 'GET', '/test'],
      columns: 80,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY },
    });

    expect(shown.out).toBe(document);
    expect((await api.at(url, 'GET', '/test', '--json')).out).toBe(document);
    expect((await api.at(url, 'GET', '/test', '--format', 'ndjson')).out).toBe('{"a":"\\u009b1"}\n');
    expect((await api.at(url, 'GET', '/test', '-q')).code).toBe(2);
  });

  it('fails with --json for an answer that is not JSON, and prints nothing for an empty one', async () => {
    const { url } = await api.serve(({ method }, response) => {
      if (method === 'DELETE') response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    });

    expect(await api.at(url, 'GET', '/test', '--json')).toMatchObject({ code: 9, out: '' });
    expect(await api.at(url, 'GET', '/test')).toMatchObject({ code: 0, out: '<p>' });
    expect(await api.at(url, 'DELETE', '/test', '--json')).toMatchObject({ code: 0, out: '' });
  });

  it('prints the status line and the headers with --include, without secrets', async () => {
    const { url } = await api.serve((_, response) =>
      response
        .writeHead(201, { 'content-type': 'text/plain', 'set-cookie': 'id=1', 'x-api-key': 'abc', date: 'today' })
        .end(`your key is ${KEY}`),
    );

    const { code, out } = await api.at(url, 'POST', '/test', '-i');

    expect(code).toBe(0);
    expect(out).toMatch(/^HTTP\/1\.1 201 Created\ncontent-type: text\/plain\n/);
    expect(out).toContain('set-cookie: <redacted>\nx-api-key: <redacted>\n');
    expect(out).toMatch(/\n\nyour key is <redacted>$/);
  });

  it('redacts secret members of an answer', async () => {
    const body = { id: 'a', session_api_key: 'abcdef123456', nested: [{ token: 't0k3n', next_page_token: 'n' }] };
    const { url } = await api.serve((_, response) => sendJson(response, 200, body));

    const { out } = await api.at(url, 'GET', '/test');

    expect(JSON.parse(out)).toEqual({
      id: 'a',
      session_api_key: '<redacted>',
      nested: [{ token: '<redacted>', next_page_token: 'n' }],
    });
  });

  it('prints the body of a failed request, and exits by its status', async () => {
    const { url } = await api.serve(({ url: target }, response) => {
      const status = Number(/\d+/.exec(target)?.[0]);
      sendJson(response, status, { detail: `answer ${status}` });
    });
    const results = await Promise.all(
      [400, 401, 403, 404, 405, 409, 422, 501].map(async (status) => {
        const { code, out, err } = await api.at(url, 'POST', `/test/${status}`);
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
    const { url } = await api.serve((_, response) => sendJson(response, 404, { detail: 'gone' }));
    await writeFile(path.join(api.world.dir, 'kept.json'), 'before');

    const asJson = await api.at(url, 'GET', '/test', '--json');
    const toFile = await api.at(url, 'GET', '/test', '-o', 'kept.json');

    expect(asJson).toMatchObject({ code: 5, out: '' });
    expect(JSON.parse(asJson.err)).toMatchObject({ error: { code: 'not-found', status: 404 } });
    expect(toFile).toMatchObject({ code: 5, out: '' });
  });

  it('exits with 5 for a HEAD that finds nothing', async () => {
    const { url } = await api.serve((_, response) => response.writeHead(404).end());

    expect(await api.at(url, 'HEAD', '/test', '-i')).toMatchObject({ code: 5 });
  });

  it('repeats reads and idempotent writes after 503, and never a POST', async () => {
    let failures = 0;
    const { url, seen } = await api.serve((_, response) => {
      failures += 1;
      if (failures % 2 === 1) sendJson(response, 503, { detail: 'busy' });
      else sendJson(response, 200, {});
    });

    const codes = [];
    for (const method of ['GET', 'PUT', 'DELETE']) codes.push((await api.at(url, method, '/test')).code);
    codes.push((await api.at(url, 'POST', '/test')).code);

    expect(codes).toEqual([0, 0, 0, 9]);
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'PUT', 'PUT', 'DELETE', 'DELETE', 'POST']);
  });

  it('exits with 11 when the answer to a POST is lost', async () => {
    const { url, seen } = await api.serve((_, response) => response.destroy());

    expect(await api.at(url, 'POST', '/test')).toMatchObject({ code: 11, out: '' });
    expect(seen).toHaveLength(1);
  });

  it('prints a request of any method with --dry-run, and sends nothing', async () => {
    const { url, seen } = await api.serve((_, response) => sendJson(response, 200, { read: true }));
    await writeFile(path.join(api.world.dir, 'body.json'), '{"name":"x","api_key":"abcdefgh"}');

    const written = await api.at(url, 'POST', '/test?a=1', '--input', 'body.json', '--dry-run', '--json');
    const read = await api.at(url, 'GET', '/test', '-f', 'b=2', '--dry-run');
    const pages = await api.at(url, 'GET', '/test', '--paginate', '--jq', '.requests[0].method', '--dry-run');
    const head = await api.at(url, 'HEAD', '/test', '--dry-run');

    expect(JSON.parse(written.out)).toEqual({
      dry_run: true,
      requests: [{ method: 'POST', url: `${url}/test?a=1`, body: { name: 'x', api_key: '<redacted>' } }],
    });
    expect(read).toMatchObject({ code: 0, out: `GET ${url}/test?b=2\n` });
    expect(pages).toMatchObject({ code: 0, out: 'GET\n' });
    expect(head).toMatchObject({ code: 0, out: `HEAD ${url}/test\n` });
    expect(seen).toEqual([]);
  });

  it('logs the request without its secrets with --debug', async () => {
    const { url } = await api.serve((_, response) => sendJson(response, 200, {}));
    await writeFile(path.join(api.world.dir, 'key.txt'), 'v3ry-secret-value\n');

    const { code, err } = await api.at(url, 'POST', '/test', '-F', 'api_key=@key.txt', '--debug');
    const inQuery = await api.at(url, 'GET', '/test', '-F', 'password=@key.txt', '--debug');

    expect(code).toBe(0);
    expect(err).toContain('> POST');
    expect(err + inQuery.err).not.toContain('v3ry-secret-value');
  });
});

describe('acs api at the local service', () => {
  it('calls routes of both dialects', async () => {
    const v1 = await api.world.acs('api', 'GET', '/api/v1/sandbox-specs/search', '--json');
    const v0 = await api.world.acs('api', 'GET', '/api/conversations', '-f', 'limit=1', '--json');

    expect([v1.code, v0.code]).toEqual([0, 0]);
    expect(JSON.parse(v1.out)).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ id: 'process' })]) as unknown,
    });
    expect(JSON.parse(v0.out)).toMatchObject({ results: [], next_page_id: null });
  });

  it('prints no session key of a sandbox that it starts', async () => {
    const { code, out } = await api.world.acs('api', 'POST', '/api/v1/sandboxes');

    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ session_api_key: '<redacted>' });
  });
});
