import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useEmptiedWorker, useSharedWorker } from './support/shared-sandboxes.ts';
import {
  type TestSocket,
  OUTLINE_AFTER_MESSAGE,
  ID,
  KEY,
  type OwnWorker,
  message,
  outline,
  step,
  until,
} from './support/worker.ts';

const header = { 'X-Session-API-Key': KEY };
const path = `/sockets/events/${ID}`;
const STEPS = [
  step.run('echo one'),
  step.finish('First.'),
  step.run('echo two'),
  step.finish('Second.'),
];
const ALMOST = KEY.replace(/.$/, '_');

let worker: OwnWorker;
const sockets: TestSocket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.client.terminate();
});

/** A socket that is closed after the test. */
function connected(route: string, headers: Record<string, string> = header): TestSocket {
  const socket = worker.socket(route, headers);
  sockets.push(socket);
  return socket;
}

/** A socket that has received this many frames; the first is the state of the conversation. */
async function opened(
  route = path,
  headers: Record<string, string> = header,
  frames = 1,
): Promise<TestSocket> {
  const socket = connected(route, headers);
  await until('its frames', () => socket.frames.length >= frames);
  return socket;
}

/** A socket without a key that has sent this as its first frame. */
async function authenticating(session_api_key: string, more: object = {}): Promise<TestSocket> {
  const socket = connected(path, {});
  await until('it is open', () => socket.client.readyState === socket.client.OPEN);
  socket.client.send(JSON.stringify({ type: 'auth', session_api_key, ...more }));
  return socket;
}

const sent = ({ frames }: TestSocket): unknown[] =>
  frames.filter((frame) => frame['key'] !== 'full_state').map((frame) => frame['id']);
const idsOf = async (): Promise<string[]> => (await worker.events()).map((event) => event.id);

describe('a socket of a conversation that does not change', () => {
  const shared = useSharedWorker(STEPS);
  beforeEach(() => {
    worker = shared.worker;
  });

  it.each([
    ['the query', `${path}?session_api_key=${KEY}`, {}],
    ['a header', path, header],
  ])('accepts the key from %s and begins with the whole state', async (_where, route, headers) => {
    const { frames } = await opened(route, headers);
    expect(frames).toHaveLength(1);
    const value = { id: ID, execution_status: 'finished' };
    expect(frames[0]).toMatchObject({
      kind: 'ConversationStateUpdateEvent',
      key: 'full_state',
      value,
    });
  });

  it('closes with 1009 after a frame of more than 64 MiB', async () => {
    const socket = await opened();
    socket.client.send(Buffer.alloc(64 * 1024 * 1024 + 1));
    expect(await socket.closed).toMatchObject({ code: 1009 });
  });

  it.each(['wrong', ALMOST])(
    'closes with 4001 when the key in the first frame is %s',
    async (other) => {
      const socket = await authenticating(other);
      const firstFrame = new Promise((resolve) => socket.client.once('message', resolve)).then(
        () => 'a frame',
      );
      expect(await Promise.race([socket.closed, firstFrame])).toEqual({
        code: 4001,
        reason: 'Authentication failed',
      });
    },
  );

  it.each([
    ['a wrong key in the query', `${path}?session_api_key=wrong`, {}],
    ['a wrong key in the header', path, { 'X-Session-API-Key': 'wrong' }],
    ['a wrong key of the right length in the query', `${path}?session_api_key=${ALMOST}`, {}],
    ['a wrong key of the right length in the header', path, { 'X-Session-API-Key': ALMOST }],
    ['an unknown resend mode', `${path}?resend_mode=nope`, header],
    ['a page of the internet', path, { ...header, Origin: 'https://example.com' }],
    ['a foreign host name', path, { ...header, Host: 'example.com' }],
  ])('refuses %s with HTTP 403', async (_what, route, headers) => {
    expect(await connected(route, headers).status).toBe(403);
  });

  it('closes with 4004 for an unknown conversation', async () => {
    const socket = connected('/sockets/events/00000000-0000-0000-0000-000000000000');
    expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' });
  });

  it.each(['//', '//x:y/', '/%', '*', ':80', 'http://[', '/sockets//events'])(
    'of a worker whose port stays open after an upgrade to %j',
    async (target) => {
      const answer = await new Promise<string>((resolve) => {
        let received = '';
        const socket = connect(worker.port, '127.0.0.1', () => {
          const upgrade =
            'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: ' +
            'websocket\r\nSec-WebSocket-Version: 13';
          socket.write(
            `GET ${target} HTTP/1.1\r\n${upgrade}\r\nSec-WebSocket-Key: ` +
              `dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
          );
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

describe('a socket of a conversation', () => {
  let own: OwnWorker;
  useEmptiedWorker((started) => (own = started));
  beforeEach(async () => {
    worker = own;
    await worker.play(STEPS);
  });

  it('accepts nothing but the key before the key has come, and the key from the first frame', async () => {
    const refused = await authenticating(KEY, { more: 'x'.repeat(100_000) });
    expect([(await refused.closed).code, refused.frames]).toEqual([1006, []]);
    const known = await authenticating(KEY);
    await until('the state', () => known.frames.length === 1);
    known.client.send(JSON.stringify(message('x'.repeat(100_000))));
    await until('the words', () => known.frames.some((frame) => frame['kind'] === 'MessageEvent'));
  });

  it('of 600 without the key fifty wait for it, and one with the key is accepted beside them', async () => {
    const all = Array.from({ length: 600 }, () => worker.socket(path));
    const statuses = await Promise.all(all.map(({ status }) => status));
    expect(statuses.filter((status) => status === 101)).toHaveLength(50);
    expect(statuses.filter((status) => status === 503)).toHaveLength(550);
    expect((await opened()).frames).toHaveLength(1);
    for (const { client } of all) client.terminate();
    await until('a place', async () => (await worker.socket(path).status) === 101);
  });

  it('reports the number of subscribers to the service', async () => {
    const count = () => worker.notices.findLast((notice) => notice.type === 'subscribers')?.count;
    const both = [connected(path), connected('/sockets/bash-events')];
    await until('both', () => count() === 2);
    for (const { client } of both) client.terminate();
    await until('none', () => count() === 0);
  });

  it('closes with 1013 above fifty subscribers, and accepts the next after one has left', async () => {
    const fifty = await Promise.all(Array.from({ length: 50 }, () => opened()));
    expect((await connected(path).closed).code).toBe(1013);
    fifty[0]?.client.close();
    await fifty[0]?.closed;
    // The worker may notice the end later than the client that closed the socket.
    let next = connected(path);
    await until('its state', () => {
      if (next.client.readyState === next.client.CLOSED) next = connected(path);
      return next.frames.length === 1;
    });
  });

  it('is closed by a pause and can be opened again after the resume', async () => {
    const socket = await opened();
    await worker.command('pause');
    expect((await socket.closed).code).toBe(1001);
    await worker.command('resume');
    await opened();
  });

  it.each(['resend_mode=all', 'resend_all=true'])('resends everything with %s', async (query) => {
    const ids = await idsOf();
    expect(sent(await opened(`${path}?${query}`, header, ids.length + 1))).toEqual(ids);
  });

  it('resends from a time on, inclusive, in every form of the time', async () => {
    const events = await worker.events();
    const rest = events.slice(6).map((event) => event.id);
    const from = events[6]?.timestamp ?? '';
    for (const time of [from, `${from}Z`, `${from}%2B00:00`]) {
      const query = `resend_mode=since&after_timestamp=${time}`;
      expect(sent(await opened(`${path}?${query}`, header, rest.length + 1))).toEqual(rest);
    }
  });

  it('delivers each event once, in order, to a client that reconnects repeatedly during the run', async () => {
    await worker.call('DELETE', `/api/conversations/${ID}`);
    const steps = Array.from({ length: 60 }, (_, index) => step.run(`echo ${index}`));
    await worker.startConversation([...steps, step.finish()]);
    const seen: string[] = [];
    let since = '';
    for (let ended = false; !ended;) {
      const query = since === '' ? 'resend_mode=all' : `resend_mode=since&after_timestamp=${since}`;
      const socket = connected(`${path}?${query}`);
      await until(
        'some more',
        () =>
          sent(socket).length > 12 || socket.frames.some((frame) => frame['value'] === 'finished'),
      );
      socket.client.terminate();
      await socket.closed;
      for (const frame of socket.frames) {
        if (frame['key'] === 'full_state' || seen.includes(String(frame['id']))) continue;
        seen.push(String(frame['id']));
        since = String(frame['timestamp']);
        ended ||= frame['value'] === 'finished';
      }
    }
    expect(seen).toEqual(await idsOf());
  });

  it('starts a run for a message over the socket, and sends the full state after its end', async () => {
    const socket = await opened();
    socket.client.send(
      JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'Go on.' }] }),
    );
    const states = () => socket.frames.filter((frame) => frame['key'] === 'full_state');
    await until('the second state', () => states().length === 2);
    expect(outline(socket.frames.slice(1, -1))).toEqual(OUTLINE_AFTER_MESSAGE);
    expect(socket.frames.at(-1)).toMatchObject({
      key: 'full_state',
      value: { execution_status: 'finished' },
    });
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await until('the state of a run that ends at once', () => states().length === 3);
  });

  it.each(['{"nope":1}', 'no json', '[]'])(
    'answers the frame %s with a ServerErrorEvent and stays open',
    async (frame) => {
      const socket = await opened();
      socket.client.send(frame);
      await until('the answer', () => socket.frames.length === 2);
      expect(socket.frames[1]).toMatchObject({
        kind: 'ServerErrorEvent',
        source: 'environment',
        code: 'ValidationError',
      });
      expect(socket.client.readyState).toBe(socket.client.OPEN);
    },
  );

  it('does not delay the run when its reader is slow', async () => {
    await worker.call('DELETE', `/api/conversations/${ID}`);
    // More than the buffers of a loopback connection hold.
    const large = 'x'.repeat(2 ** 20);
    const steps = Array.from({ length: 8 }, (_, index) =>
      step.create(`large-${String(index)}.txt`, large),
    );
    await worker.startConversation([...steps, step.finish()], { initial_message: null });
    const slow = await opened();
    slow.client.pause();
    await worker.call('POST', `/api/conversations/${ID}/events`, message('Go.'));
    await worker.untilStatus('finished');
    slow.client.resume();
    const ids = await idsOf();
    await until('everything', () => sent(slow).length === ids.length);
    expect(sent(slow)).toEqual(ids);
  });
});
