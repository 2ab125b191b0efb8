import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useSharedWorker } from './support/shared-worker.ts';
import {
  ID,
  KEY,
  message,
  type OwnWorker,
  startConversation,
  startOwnWorker,
  step,
  until,
  untilStatus,
} from './support/worker.ts';

const header = { 'X-Session-API-Key': KEY };
const path = `/sockets/events/${ID}`;
const STEPS = [step.run('echo one'), step.finish('First.'), step.run('echo two'), step.finish('Second.')];

describe('a socket of a conversation that does not change', () => {
  const shared = useSharedWorker(STEPS);

  it.each([
    ['the query', `${path}?session_api_key=${KEY}`, {}],
    ['a header', path, header],
  ])('accepts the key from %s and begins with the whole state', async (_where, route, headers) => {
    const socket = shared.worker.socket(route, headers);
    await until('a frame', () => socket.frames.length > 0);
    expect(socket.frames).toHaveLength(1);
    expect(socket.frames[0]).toMatchObject({
      kind: 'ConversationStateUpdateEvent',
      key: 'full_state',
      value: { id: ID, execution_status: 'finished' },
    });
    socket.client.terminate();
  });

  it('accepts the key from the first frame', async () => {
    const socket = shared.worker.socket(path);
    await until('it is open', () => socket.client.readyState === socket.client.OPEN);
    socket.client.send(JSON.stringify({ type: 'auth', session_api_key: KEY }));
    await until('a frame', () => socket.frames.length > 0);
    socket.client.terminate();
  });

  it('closes with 1009 after a frame of more than 64 MiB', async () => {
    const socket = shared.worker.socket(path, header);
    await until('a frame', () => socket.frames.length > 0);
    socket.client.send(Buffer.alloc(64 * 1024 * 1024 + 1));
    expect(await socket.closed).toMatchObject({ code: 1009 });
  });

  it.each([
    ['wrong', 'wrong'],
    ['wrong and of the right length', KEY.replace(/.$/, '_')],
  ])('closes with 4001 when the key in the first frame is %s', async (_how, other) => {
    const socket = shared.worker.socket(path);
    await until('it is open', () => socket.client.readyState === socket.client.OPEN);
    socket.client.send(JSON.stringify({ type: 'auth', session_api_key: other }));
    const firstFrame = new Promise((resolve) => socket.client.once('message', resolve)).then(() => 'a frame');
    expect(await Promise.race([socket.closed, firstFrame])).toEqual({ code: 4001, reason: 'Authentication failed' });
  });

  it.each([
    ['a wrong key in the query', `${path}?session_api_key=wrong`, {}],
    ['a wrong key in the header', path, { 'X-Session-API-Key': 'wrong' }],
    ['a wrong key of the right length in the query', `${path}?session_api_key=${KEY.replace(/.$/, '_')}`, {}],
    ['a wrong key of the right length in the header', path, { 'X-Session-API-Key': KEY.replace(/.$/, '_') }],
    ['an unknown resend mode', `${path}?resend_mode=nope`, header],
    ['a page of the internet', path, { ...header, Origin: 'https://example.com' }],
    ['a foreign host name', path, { ...header, Host: 'example.com' }],
  ])('refuses %s with HTTP 403', async (_what, route, headers) => {
    expect(await shared.worker.socket(route, headers).status).toBe(403);
  });

  it('closes with 4004 for an unknown conversation', async () => {
    const socket = shared.worker.socket('/sockets/events/00000000-0000-0000-0000-000000000000', header);
    expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' });
  });
});

describe('a socket of a conversation', () => {
  let worker: OwnWorker;
  beforeEach(async () => {
    worker = await startOwnWorker();
    await startConversation(worker, STEPS);
    await untilStatus(worker, 'finished');
  });
  afterEach(() => worker.close());

  it('accepts nothing but the key before the key has come', async () => {
    const socket = worker.socket(path);
    await until('it is open', () => socket.client.readyState === socket.client.OPEN);
    socket.client.send(JSON.stringify({ type: 'auth', session_api_key: KEY, more: 'x'.repeat(100_000) }));
    expect((await socket.closed).code).toBe(1006);
    expect(socket.frames).toEqual([]);
    const known = worker.socket(path);
    await until('it is open', () => known.client.readyState === known.client.OPEN);
    known.client.send(JSON.stringify({ type: 'auth', session_api_key: KEY }));
    await until('the state', () => known.frames.length === 1);
    known.client.send(JSON.stringify(message('x'.repeat(100_000))));
    await until('the words', () => known.frames.some((frame) => frame['kind'] === 'MessageEvent'));
    known.client.terminate();
  });

  it('limits the connections without a key, and accepts those with one beyond that limit', async () => {
    const waiting = Array.from({ length: 50 }, () => worker.socket(path));
    await until('all wait', () => waiting.every(({ client }) => client.readyState === client.OPEN));
    expect(await worker.socket(path).status).toBe(503);
    const known = worker.socket(path, header);
    await until('the state', () => known.frames.length === 1);
    waiting[0]?.client.terminate();
    let next = worker.socket(path);
    await until('a place is free', () => {
      if (next.client.readyState === next.client.CLOSED) next = worker.socket(path);
      return next.client.readyState === next.client.OPEN;
    });
    for (const { client } of [...waiting, known, next]) client.terminate();
  });

  it('reports the number of subscribers to the service', async () => {
    const counts = (): number[] =>
      worker.notices.flatMap((notice) => (notice.type === 'subscribers' ? [notice.count] : []));
    const [one, two] = [worker.socket(path, header), worker.socket('/sockets/bash-events', header)];
    await until('both', () => counts().at(-1) === 2);
    one.client.terminate();
    two.client.terminate();
    await until('none', () => counts().at(-1) === 0);
  });

  it('closes with 1013 above fifty subscribers, and accepts the next after one has left', async () => {
    const sockets = Array.from({ length: 50 }, () => worker.socket(path, header));
    for (const socket of sockets) await until('its state', () => socket.frames.length === 1);
    expect((await worker.socket(path, header).closed).code).toBe(1013);
    sockets[0]?.client.close();
    await sockets[0]?.closed;
    // The worker may notice the end later than the client that closed the socket.
    let next = worker.socket(path, header);
    await until('its state', () => {
      if (next.client.readyState === next.client.CLOSED) next = worker.socket(path, header);
      return next.frames.length === 1;
    });
    for (const socket of [...sockets, next]) socket.client.terminate();
  });

  it('is closed by a pause and can be opened again after the resume', async () => {
    const socket = worker.socket(path, header);
    await until('the state', () => socket.frames.length === 1);
    await worker.command('pause');
    expect((await socket.closed).code).toBe(1001);
    await worker.command('resume');
    const again = worker.socket(path, header);
    await until('the state', () => again.frames.length === 1);
    again.client.terminate();
  });
});

describe('the port of a worker', () => {
  const shared = useSharedWorker(STEPS);

  it.each(['//', '//x:y/', '/%', '*', ':80', 'http://[', '/sockets//events'])(
    'stays open after an upgrade to %j',
    async (target) => {
      const { port } = shared.worker;
      const answer = await new Promise<string>((resolve) => {
        let received = '';
        const socket = connect(port, '127.0.0.1', () => {
          const upgrade = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
          socket.write(`GET ${target} HTTP/1.1\r\n${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
        });
        socket.on('data', (data) => (received += data.toString('latin1')));
        socket.on('close', () => resolve(received));
        // The bytes received before the error are examined.
        socket.on('error', () => resolve(received));
      });
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      expect((await shared.get('/api/tools')).status).toBe(200);
    },
  );
});
