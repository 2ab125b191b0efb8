import { beforeEach, describe, expect, it } from 'vitest';
import { OUTLINE_AFTER_MESSAGE } from './support/conversation-of-test.ts';
import { useEmptiedWorker } from './support/shared-worker.ts';
import type { TestSocket } from './support/socket.ts';
import {
  eventsOf,
  ID,
  KEY,
  message,
  outline,
  type OwnWorker,
  startConversation,
  step,
  until,
  untilStatus,
} from './support/worker.ts';

let worker: OwnWorker;
const header = { 'X-Session-API-Key': KEY };
const path = `/sockets/events/${ID}`;

useEmptiedWorker((started) => (worker = started));
beforeEach(async () => {
  await startConversation(worker, [
    step.run('echo one'),
    step.finish('First.'),
    step.run('echo two'),
    step.finish('Second.'),
  ]);
  await untilStatus(worker, 'finished');
});

async function idsOf(): Promise<string[]> {
  return (await eventsOf(worker)).map((event) => event.id);
}

function sent(socket: TestSocket): unknown[] {
  return socket.frames.filter((frame) => frame['key'] !== 'full_state').map((frame) => frame['id']);
}

describe('a socket of a conversation', () => {
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
    expect(outline(socket.frames.slice(1))).toEqual(OUTLINE_AFTER_MESSAGE);
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
