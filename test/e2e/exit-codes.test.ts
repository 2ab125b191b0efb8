import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { createWorld, type Ended, type World } from '../support/world.ts';

/** One way to each exit code; what leads to it in detail is tested where it happens, 129 to 143 in pipes.test.ts. */
describe('the exit code', () => {
  let world: World;
  let done: string;
  const servers: Server[] = [];

  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
    const replay = [
      { action: 'run', args: { command: 'sleep 600' } },
      { action: 'finish', args: { final_thought: 'x' } },
    ];
    await writeFile(path.join(world.dir, 'long.json'), JSON.stringify(replay));
    done = (await world.acs('conv', 'new', '--no-repo', '--replay', 'demo', '--wait', '-q')).out.trim();
  });
  afterAll(() => world.close());
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  /** A server that is none, or stands in the way of the real one. */
  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The real service, but for requests that the listener takes. */
  async function servedBut(
    takes: (method: string, url: string) => boolean,
    listener: RequestListener,
  ): Promise<string> {
    return await serve((request, response) => {
      const { method = 'GET', url = '/' } = request;
      if (takes(method, url)) return listener(request, response);
      const pass = async (): Promise<void> => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const answer = await fetch(world.service.url + url, {
          method,
          headers: { 'X-Session-API-Key': world.service.key, 'Content-Type': 'application/json' },
          ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
        });
        response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? 'text/plain' });
        response.end(Buffer.from(await answer.arrayBuffer()));
      };
      pass().catch(() => response.destroy());
    });
  }

  const at = (url: string, ...args: string[]): Promise<Ended> =>
    world.invoke({ args: [...args, '--json'], env: { ACS_BASE_URL: url } });
  const kind = ({ err }: Ended): string =>
    (JSON.parse(err.trimEnd().split('\n').at(-1) ?? '{}') as { error: { code: string } }).error.code;
  const isStart = (method: string, url: string) => method === 'POST' && url.startsWith('/api/v1/app-conversations');

  it('0: the run finished', async () => {
    expect((await world.acs('conv', 'wait', done)).code).toBe(0);
  });

  it('1 failed: the run failed', async () => {
    expect((await world.acs('conv', 'send', done, 'more', '--wait')).code).toBe(1);
  });

  it('2 usage: an unknown flag', async () => {
    const ended = await world.acs('conv', 'list', '--colour', '--json');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 2, kind: 'usage' });
  });

  it('3 config: no server', async () => {
    const ended = await world.invoke({
      args: ['conv', 'list', '--json'],
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: undefined },
    });
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 3, kind: 'config' });
  });

  it('4 auth: a wrong key', async () => {
    const ended = await world.invoke({ args: ['conv', 'list', '--json'], env: { ACS_API_KEY: 'wrong' } });
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 4, kind: 'auth' });
  });

  it('5 not-found: no such conversation', async () => {
    const ended = await world.acs('conv', 'show', 'f'.repeat(32), '--json');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 5, kind: 'not-found' });
  });

  it('6 conflict: the sandbox is paused', async () => {
    const id = (await world.acs('conv', 'new', '--no-repo', '--replay', 'demo', '--wait', '-q')).out.trim();
    const { sandbox_id: sandbox } = JSON.parse((await world.acs('conv', 'show', id, '--json')).out) as {
      sandbox_id: string;
    };
    await world.acs('sandbox', 'pause', sandbox);
    const ended = await world.acs('conv', 'send', id, 'hello', '--json');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 6, kind: 'conflict' });
  });

  it('7 rate-limited: still 429 after the retries', async () => {
    const url = await servedBut(isSearch, (_, response) => {
      response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': '0' });
      response.end('{"message":"Too many requests"}');
    });
    const ended = await at(url, 'conv', 'list');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 7, kind: 'rate-limited' });
  });

  it('8 needs-input: the run waits for a confirmation', async () => {
    await world.acs('settings', 'set', 'confirmation_mode=true');
    const ended = await world.acs('conv', 'new', '--no-repo', '--replay', 'long.json', '--wait');
    await world.acs('settings', 'set', 'confirmation_mode=false');
    expect(ended.code, ended.err).toBe(8);
  });

  it('9 server: an answer that is a web page', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      response.end('<html><body>Welcome</body></html>');
    });
    const ended = await at(url, 'conv', 'list');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 9, kind: 'server' });
    expect(ended.err).toContain('text/html');
  });

  it('10 network: a closed port', async () => {
    const ended = await at('http://127.0.0.1:1', 'conv', 'list');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 10, kind: 'network' });
  });

  // It is looked for several times, some seconds apart.
  it(
    '11 unknown-outcome: a start whose answer was lost and that cannot be looked up',
    { timeout: 180_000 },
    async () => {
      let isBroken = false;
      const url = await servedBut(
        (method, route) => isBroken || (isBroken = isStart(method, route)),
        (request) => request.socket.destroy(),
      );
      const ended = await at(url, 'conv', 'new', '--no-repo', '--replay', 'demo');
      expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 11, kind: 'unknown-outcome' });
    },
  );

  it('12 unsupported: a dialect this server does not speak', async () => {
    const ended = await world.acs('conv', 'new', 'hello', '--no-repo', '--api', 'v0', '--json');
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 12, kind: 'unsupported' });
  });

  it('70 internal: a bug in acs', async () => {
    const clock: Clock = {
      now: () => {
        throw new RangeError('there is no time');
      },
      sleep: () => Promise.resolve(),
    };
    const ended = await world.invoke({ args: ['conv', 'list', '--json'], clock });
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 70, kind: 'internal' });
    expect(ended.err).toContain('there is no time');
  });

  it('124 timeout: the deadline of the command passed', async () => {
    const ended = await world.acs(
      ...[
        'conv',
        'new',
        '--no-repo',
        '--replay',
        'long.json',
        '--wait',
        '--timeout',
        '500ms',
        '--stop-on-timeout',
        '--json',
      ],
    );
    expect({ code: ended.code, kind: kind(ended) }).toEqual({ code: 124, kind: 'timeout' });
  });

  it('of a start whose answer was lost is 0 when it can be looked up, and nothing is sent twice', async () => {
    const sent: string[] = [];
    const url = await servedBut(isStart, (request, response) => {
      const pass = async (): Promise<void> => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        sent.push(Buffer.concat(chunks).toString());
        await fetch(`${world.service.url}${request.url ?? ''}`, {
          method: 'POST',
          headers: { 'X-Session-API-Key': world.service.key, 'Content-Type': 'application/json' },
          body: Buffer.concat(chunks),
        });
        response.destroy();
      };
      pass().catch(() => response.destroy());
    });
    const ended = await at(url, 'conv', 'new', '--no-repo', '--replay', 'demo');
    expect(ended.code, ended.err).toBe(0);
    expect(sent).toHaveLength(1);
  });
});

function isSearch(method: string, url: string): boolean {
  return method === 'GET' && url.startsWith('/api/v1/app-conversations/search');
}
