import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  eventsOf,
  ID,
  KEY,
  message,
  outline,
  startConversation,
  startOwnWorker,
  step,
  type OwnWorker,
  until,
  untilStatus,
} from './support/worker.ts';
import type { TestSocket } from './support/socket.ts';

let worker: OwnWorker;
const header = { 'X-Session-API-Key': KEY };
const path = `/sockets/events/${ID}`;

beforeEach(async () => {
  worker = await startOwnWorker();
  await startConversation(worker, [
    step.run('echo one'),
    step.finish('First.'),
    step.run('echo two'),
    step.finish('Second.'),
  ]);
  await untilStatus(worker, 'finished');
});

afterEach(() => worker.close());

async function idsOf(): Promise<string[]> {
  return (await eventsOf(worker)).map((event) => event.id);
}

function sent(socket: TestSocket): unknown[] {
  return socket.frames.filter((frame) => frame['key'] !== 'full_state').map((frame) => frame['id']);
}

describe('a socket of a conversation', () => {
  it.each([
    ['the query', `${path}?session_api_key=${KEY}`, {}],
    ['a header', path, header],
  ])('accepts the key from %s and begins with the whole state', async (_where, route, headers) => {
    const socket = worker.socket(route, headers);
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
    const socket = worker.socket(path);
    await until('it is open', () => socket.client.readyState === socket.client.OPEN);
    socket.client.send(JSON.stringify({ type: 'auth', session_api_key: KEY }));
    await until('a frame', () => socket.frames.length > 0);
    socket.client.terminate();
  });

  it('closes with 1009 after a frame of more than 64 MiB', async () => {
    const socket = worker.socket(path, header);
    await until('a frame', () => socket.frames.length > 0);
    socket.client.send(Buffer.alloc(64 * 1024 * 1024 + 1));
    expect(await socket.closed).toMatchObject({ code: 1009 });
  });

  it.each([
    ['wrong', 'wrong'],
    ['wrong and of the right length', KEY.replace(/.$/, '_')],
  ])('closes with 4001 when the key in the first frame is %s', async (_how, other) => {
    const socket = worker.socket(path);
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
    expect(await worker.socket(route, headers).status).toBe(403);
  });

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

  it('closes with 4004 for an unknown conversation', async () => {
    const socket = worker.socket('/sockets/events/00000000-0000-0000-0000-000000000000', header);
    expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' });
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

  it.each(['resend_mode=all', 'resend_all=true'])('resends everything with %s', async (query) => {
    const socket = worker.socket(`${path}?${query}`, header);
    const ids = await idsOf();
    await until('all', () => sent(socket).length === ids.length);
    expect(sent(socket)).toEqual(ids);
    socket.client.terminate();
  });

  it('resends from a time on, inclusive, in every form of the time', async () => {
    const events = await eventsOf(worker);
    const from = events[6]?.timestamp ?? '';
    for (const time of [from, `${from}Z`, `${from}%2B00:00`]) {
      const socket = worker.socket(`${path}?resend_mode=since&after_timestamp=${time}`, header);
      await until('the rest', () => sent(socket).length === events.length - 6);
      expect(sent(socket)).toEqual(events.slice(6).map((event) => event.id));
      socket.client.terminate();
    }
  });

  it('delivers each event once, in order, to a client that reconnects repeatedly during the run', async () => {
    await worker.call('DELETE', `/api/conversations/${ID}`);
    const steps = Array.from({ length: 60 }, (_, index) => step.run(`echo ${index}`));
    await startConversation(worker, [...steps, step.finish()]);
    const seen: string[] = [];
    let since = '';
    for (let ended = false; !ended;) {
      const query = since === '' ? 'resend_mode=all' : `resend_mode=since&after_timestamp=${since}`;
      const socket = worker.socket(`${path}?${query}`, header);
      await until(
        'some more',
        () => sent(socket).length > 12 || socket.frames.some((frame) => frame['value'] === 'finished'),
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

  it('starts a run for a message over the socket', async () => {
    const socket = worker.socket(path, header);
    await until('the state', () => socket.frames.length === 1);
    socket.client.send(JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'Go on.' }] }));
    await until('the end', () => socket.frames.some((frame) => frame['value'] === 'finished'));
    expect(outline(socket.frames.slice(1))).toEqual([
      'idle',
      'MessageEvent',
      'last_user_message_id',
      'running',
      'TerminalAction',
      'TerminalObservation',
      'FinishAction',
      'FinishObservation',
      'finished',
    ]);
    socket.client.terminate();
  });

  it.each(['{"nope":1}', 'no json', '[]'])(
    'answers the frame %s with a ServerErrorEvent and stays open',
    async (frame) => {
      const socket = worker.socket(path, header);
      await until('the state', () => socket.frames.length === 1);
      socket.client.send(frame);
      await until('the answer', () => socket.frames.length === 2);
      expect(socket.frames[1]).toMatchObject({
        kind: 'ServerErrorEvent',
        source: 'environment',
        code: 'ValidationError',
      });
      expect(socket.client.readyState).toBe(socket.client.OPEN);
      socket.client.terminate();
    },
  );

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

  it('does not delay the run when its reader is slow', async () => {
    await worker.call('DELETE', `/api/conversations/${ID}`);
    // More than the buffers of a loopback connection hold.
    const large = 'x'.repeat(2 ** 20);
    const steps = Array.from({ length: 8 }, (_, index) => step.create(`large-${String(index)}.txt`, large));
    await startConversation(worker, [...steps, step.finish()], { initial_message: null });
    const slow = worker.socket(path, header);
    await until('the state', () => slow.frames.length === 1);
    slow.client.pause();
    await worker.call('POST', `/api/conversations/${ID}/events`, message('Go.'));
    await untilStatus(worker, 'finished');
    slow.client.resume();
    const ids = await idsOf();
    await until('everything', () => sent(slow).length === ids.length);
    expect(sent(slow)).toEqual(ids);
    slow.client.terminate();
  });
});

describe('the socket of commands', () => {
  it('sends stored events, then new ones', async () => {
    await worker.call('POST', '/api/bash/execute_bash_command', { command: 'echo before' });
    const socket = worker.socket('/sockets/bash-events?resend_mode=all', header);
    await until('what was', () => socket.frames.length === 2);
    await worker.call('POST', '/api/bash/execute_bash_command', { command: 'echo after' });
    await until('what comes', () => socket.frames.length === 4);
    expect(socket.frames.map((frame) => frame['command'] ?? frame['stdout'])).toEqual([
      'echo before',
      'before\n',
      'echo after',
      'after\n',
    ]);
    socket.client.terminate();
  });
});
