import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { failure } from '../support/failure.ts';
import { NOBODY, useTransports } from '../support/transport.ts';

const server = useTransports();
const { transport } = server;

describe('errors', () => {
  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [404, 'not-found'],
    [405, 'unsupported'],
    [409, 'conflict'],
    [410, 'conflict'],
    [413, 'usage'],
    [422, 'server'],
    [500, 'server'],
  ])('report status %i as %s with the message of the server', async (status, kind) => {
    server.fake.handler = () => ({ status, json: { detail: 'the words' } });
    const error = await failure(transport().request({ method: 'GET', path: '/api/x', safe: 'read' }));
    expect(error.kind).toBe(kind);
    expect(error.details.request).toEqual({ method: 'GET', url: `${server.fake.url}/api/x` });
    if (kind !== 'auth') expect(error.message).toContain('the words');
  });

  it('read the message from every error format of servers, and cut it at 500 characters', async () => {
    const shapes: [unknown, string][] = [
      [{ detail: [{ loc: ['body', 'title'], msg: 'too long', input: 'secret' }] }, 'title: too long'],
      [{ detail: { message: 'inner' } }, 'inner'],
      [{ error: 'wrong' }, 'wrong'],
      [{ status: 'error', message: 'said', msg_id: 'X' }, 'said'],
      ['bare text', 'bare text'],
      [{ detail: 'y'.repeat(2000) }, `${'y'.repeat(500)}…`],
    ];
    for (const [body, words] of shapes) {
      server.fake.handler = () => ({ status: 500, json: body });
      const error = await failure(transport().request({ method: 'GET', path: '/', safe: 'read' }));
      expect(error.message).toBe(`the server answered 500: ${words}`);
    }
  });

  it('suggest checking the URL when the answer is HTML, empty or broken JSON', async () => {
    const replies = [
      [{ text: '<html>', type: 'text/html; charset=utf-8' }, 'text/html'],
      [{ text: '', type: 'application/json' }, 'an empty answer'],
      [{ text: '{"half', type: 'application/json' }, 'JSON that cannot be read'],
    ] as const;
    for (const [reply, words] of replies) {
      server.fake.handler = () => reply;
      const error = await failure(transport().request({ method: 'GET', path: '/', safe: 'read' }));
      expect([error.kind, error.exitCode]).toEqual(['server', 9]);
      expect(error.message).toContain(words);
      expect(error.details.hint).toContain('is this the right server?');
    }
  });

  it('are retryable for a failure of the server, but not for a full disk', async () => {
    for (const [status, retryable] of [
      [500, true],
      [507, false],
    ] as const) {
      server.fake.handler = () => ({ status, json: { detail: 'The disk is full' } });
      const error = await failure(transport().request({ method: 'POST', path: '/', safe: 'once' }));
      expect([error.kind, error.details.status, error.details.retryable]).toEqual(['server', status, retryable]);
    }
  });

  it('name a closed port, and are retryable', async () => {
    const closed = transport({ baseUrl: `http://${NOBODY}` });
    const error = await failure(closed.request({ method: 'POST', path: '/', safe: 'once' }));
    expect([error.kind, error.exitCode, error.details.retryable]).toEqual(['network', 10, true]);
    expect(error.message).toContain('connection refused');
  });

  it('name a host that does not resolve', async () => {
    const error = await failure(
      transport({ baseUrl: 'http://no-such-host.invalid' }).request({ method: 'GET', path: '/', safe: 'read' }),
    );
    expect(error.kind).toBe('network');
    expect(error.message).toContain('no-such-host.invalid');
  });

  it('allow each address of a name more time than a distant server needs', async () => {
    const { port } = new URL(server.fake.url);
    await transport({ baseUrl: `http://localhost:${port}` }).request({ method: 'GET', path: '/', safe: 'read' });
    expect(net.getDefaultAutoSelectFamilyAttemptTimeout()).toBeGreaterThanOrEqual(2_000);
  });

  it('name a server that does not answer in time', async () => {
    const read = { method: 'GET', path: '/', safe: 'read' } as const;
    // The connection stands by then, so that no slow making of it is taken for the silence.
    await transport().request(read);
    server.fake.handler = () => ({ silence: true });
    const error = await failure(transport({ requestTimeoutMs: 200 }).request(read));
    expect(error.message).toContain('sent nothing for 0.2 s');
  });

  it('name a port that does not speak HTTP or TLS', async () => {
    const odd = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume().end('SSH-2.0-server\r\n');
    });
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const { port } = odd.address() as net.AddressInfo;
    const plain = await failure(
      transport({ baseUrl: `http://127.0.0.1:${port}` }).request({ method: 'GET', path: '/', safe: 'read' }),
    );
    expect(plain.message).toContain('does not speak HTTP');
    const tls = await failure(
      transport({ baseUrl: `https://127.0.0.1:${port}` }).request({ method: 'GET', path: '/', safe: 'read' }),
    );
    expect(tls.message).toContain('TLS');
    await new Promise((resolve) => odd.close(resolve));
  });
});
