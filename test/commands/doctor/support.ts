/** `acs doctor` in a folder of its own, and servers that misbehave in one way each. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createWorld, invoke, PACKAGE_ROOT, type Ended, type Invocation, type World } from '../../support/world.ts';

export interface CheckJson {
  id: string;
  status: 'pass' | 'warn' | 'fail' | 'skip';
  text: string;
  hint: string | null;
  data: Record<string, unknown> | null;
}

export interface Diagnosed extends Ended {
  checks: Record<string, CheckJson>;
  /** Ids by status, in the order of the checks. */
  ids(status: CheckJson['status']): string[];
}

/** Runs it as JSON with no other variables than these and PATH; HOME and the stores are in `dir`. */
export async function doctor(dir: string, { args = [], env = {}, ...rest }: Partial<Invocation>): Promise<Diagnosed> {
  const own = {
    PATH: process.env.PATH,
    HOME: dir,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_DATA_DIR: path.join(dir, 'no-service'),
  };
  const ended = await invoke({ args: ['doctor', '--json', ...args], cwd: dir, env: { ...own, ...env }, ...rest });
  const { items } = (ended.out === '' ? { items: [] } : JSON.parse(ended.out)) as { items: CheckJson[] };
  return {
    ...ended,
    checks: Object.fromEntries(items.map((item) => [item.id, item])),
    ids: (status) => items.filter((item) => item.status === status).map(({ id }) => id),
  };
}

export interface SmallServer {
  url: string;
  port: number;
  close(): Promise<void>;
}

async function listening(server: net.Server, scheme: 'http' | 'https'): Promise<SmallServer> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export const httpServer = (handler: http.RequestListener): Promise<SmallServer> =>
  listening(http.createServer(handler), 'http');

/** @param certificate a file of test/fixtures/tls */
export const httpsServer = (certificate: string, handler: http.RequestListener): Promise<SmallServer> =>
  listening(https.createServer({ key: fixture('key.pem'), cert: fixture(certificate) }, handler), 'https');

/** Accepts connections and sends nothing. */
export const silentServer = (onConnection: () => void = () => undefined): Promise<SmallServer> =>
  listening(net.createServer().on('connection', onConnection), 'http');

/** A port at which nothing listens. */
export async function refusedPort(): Promise<number> {
  const { port, close } = await silentServer();
  await close();
  return port;
}

export function tlsFile(name: string): string {
  return path.join(PACKAGE_ROOT, 'test/fixtures/tls', name);
}

function fixture(name: string): Buffer {
  return readFileSync(tlsFile(name));
}

/** Passes requests on to another server, and lets the caller change the headers of the answers. */
export function forwardTo(
  target: string,
  change: (headers: http.IncomingHttpHeaders) => http.IncomingHttpHeaders = (headers) => headers,
): http.RequestListener {
  return (incoming, outgoing) => {
    const place = new URL(incoming.url ?? '/', target);
    const headers = { ...incoming.headers, host: place.host };
    const onward = http.request(place, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, change(answer.headers));
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  };
}

/** A proxy that connects, or answers CONNECT with this status. It records the requests. */
export async function proxyServer(
  answer: 'connects' | number,
): Promise<SmallServer & { asked: string[]; keys: (string | undefined)[] }> {
  const asked: string[] = [];
  const keys: (string | undefined)[] = [];
  const server = http.createServer((_incoming, outgoing) => outgoing.writeHead(400).end());
  server.on('connect', (incoming, client: net.Socket) => {
    asked.push(incoming.url ?? '');
    keys.push(incoming.headers['proxy-authorization']);
    if (answer !== 'connects') return client.end(`HTTP/1.1 ${answer} No\r\ncontent-length: 0\r\n\r\n`);
    const [, port] = (incoming.url ?? '').split(':');
    // Names that only the proxy can resolve lead to this machine.
    const upstream = net.connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => [client, upstream].map((each) => each.destroy()));
  });
  return { ...(await listening(server, 'http')), asked, keys };
}

export interface DoctorWorld {
  readonly world: World;
  /** HOME of the commands of `doctor`. */
  readonly dir: string;
  /** The server of the world with its key. */
  healthy(): { ACS_BASE_URL: string; ACS_API_KEY: string };
  /** Runs it at a small server, which it closes. */
  at(server: Promise<SmallServer>, env?: Record<string, string>, args?: string[]): Promise<Diagnosed>;
}

/** For the enclosing file. */
export function useDoctorWorld(): DoctorWorld {
  let world: World;
  let dir: string;
  beforeAll(async () => {
    world = await createWorld({ spec: 'process' });
    dir = await mkdtemp(path.join(tmpdir(), 'acs-doctor-'));
  });
  afterAll(async () => {
    await world.close();
    await rm(dir, { recursive: true, force: true });
  });
  return {
    get world() {
      return world;
    },
    get dir() {
      return dir;
    },
    healthy: () => ({ ACS_BASE_URL: world.service.url, ACS_API_KEY: world.service.key }),
    async at(server, env = {}, args = []) {
      const { url, close } = await server;
      const given = { ACS_API_KEY: 'the-key-of-a-test', ...env };
      try {
        return await doctor(dir, { args: ['--base-url', url, ...args], env: given });
      } finally {
        await close();
      }
    },
  };
}
