import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../../src/runs/follow-source.ts';
import { TestClock, until } from '../../support/test-clock.ts';
import { connectedV1, following, quickClock, type Follower } from '../support/client.ts';
import { finish, ID } from '../support/v1-server.ts';

const MIB = 1024 * 1024;

const v1 = connectedV1();
let follower: Follower;
beforeEach(() => void v1.world.addConversation());

const isListening = (): boolean =>
  follower.lines().includes('=running') && v1.world.fake.sockets.length === 1;
const events = (): string[] =>
  follower
    .lines()
    .flatMap((one) => (one.startsWith('ActionEvent: ') ? one.slice('ActionEvent: '.length) : []));

describe('following', () => {
  it('continues where it was when the first read is cut, and repeats no event', async () => {
    const all = Array.from({ length: 250 }, (_, index) => finish(`step ${index}`));
    v1.world.agentEvents.push(...all);
    let cuts = 0;
    v1.world.before = ({ path, query }) =>
      path.endsWith('/events/search') && query.get('page_id') === '100' && ++cuts <= 6
        ? { cut: true }
        : null;
    follower = following(v1.server);
    await until(() => follower.lines().includes('=running'));
    expect(cuts).toBeGreaterThan(4);
    expect(events()).toEqual(all.map((_, index) => `step ${index}`));
  });

  it('shows the events that a half-open socket did not deliver, and opens another one', async () => {
    follower = following(v1.server);
    await until(isListening);
    // Stored, and never sent.
    v1.world.agentEvents.push(finish('unheard'));
    await until(() => events().includes('unheard') && v1.world.fake.sockets.length === 2);
    expect(events()).toEqual(['unheard']);
  });

  it('reads an event whose frame announces more than 128 MiB, and opens another socket', async () => {
    follower = following(v1.server);
    await until(isListening);
    v1.world.agentEvents.push(finish('too large for a frame'));
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(128 * MIB + 1));
    // The library does not send such a frame: the connection below the socket does.
    const { _socket: connection } = v1.world.fake.sockets[0] as unknown as { _socket: Duplex };
    connection.write(Buffer.concat([Buffer.from([0x81, 127]), size]));
    await until(() => v1.world.fake.sockets.length === 2 && events().length > 0);
    expect(events()).toEqual(['too large for a frame']);
  });

  it('closes a socket whose frames are not taken at 16 MiB, and shows each event once', async () => {
    const stop = new AbortController();
    const items = v1.server.conversations
      .follow(ID, { signal: stop.signal })
      [Symbol.asyncIterator]();
    await items.next();
    await until(() => v1.world.fake.sockets.length === 1);
    const sent = Array.from({ length: 5 }, (_, index) => finish(`step ${index}`));
    v1.world.agentEvents.push(...sent);
    const [socket] = v1.world.fake.sockets;
    for (const one of sent) socket?.send(JSON.stringify({ ...one, padding: 'x'.repeat(4 * MIB) }));
    await until(() => socket?.readyState === socket?.CLOSED);
    const shown: string[] = [];
    while (shown.length < sent.length) {
      const { value } = (await items.next()) as { value: FollowItem };
      if (value.type === 'event') shown.push(value.event.text);
    }
    expect(shown).toEqual(sent.map((_, index) => `step ${index}`));
    stop.abort(new Error('test is over'));
  });

  it('pauses between connections when the server closes every socket at once', async () => {
    let opened = 0;
    v1.world.fake.onSocket = (socket) => {
      opened += 1;
      socket.close(1013);
    };
    const clock = quickClock();
    await v1.reconnect({ clock });
    const fromMs = clock.now();
    follower = following(v1.server);
    await until(() => opened >= 10);
    expect(clock.now() - fromMs).toBeGreaterThan(20_000);
  });

  it('reads the copy of the app server at its usual interval while the sandbox answers no request', async () => {
    // Silence is waited for on the wall; a busy machine must be able to send what is not silent
    // meanwhile.
    const clock = new TestClock({ movedBy: 'real-time', speed: 20, limitMs: Infinity });
    await v1.reconnect({ clock, requestTimeoutMs: 2_000 });
    v1.world.fake.acceptSocket = () => false;
    v1.world.before = ({ path }) => (path.startsWith('/agent/') ? { silence: true } : null);
    follower = following(v1.server);
    for (let step = 0; step < 10; step++) {
      v1.world.appEvents.push(finish(`step ${step}`));
      await until(() => events().length === step + 1);
    }
    // It is left alone for 15 s, then 30 s, then 60 s: however long all of it took, no other
    // request was sent.
    const most = 1 + Math.log2(1 + clock.now() / 15_000);
    expect(
      v1.world.fake.asked.filter(({ path }) => path.startsWith('/agent/')).length,
    ).toBeLessThanOrEqual(most);
  });

  it('shows events that reach the app server after newer ones', async () => {
    Object.assign(v1.world.conversations.get(ID)!, {
      sandbox_status: 'STARTING',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    const at = (seconds: number, text: string): Record<string, unknown> => ({
      ...finish(text),
      timestamp: `2026-11-21T12:00:${String(seconds).padStart(2, '0')}.000000`,
    });
    v1.world.appEvents.push(at(0, 'first'), at(40, 'third'));
    follower = following(v1.server);
    await until(() => events().length === 2);
    v1.world.appEvents.splice(1, 0, at(20, 'second'));
    await until(() => events().length === 3);
    expect(events()).toEqual(['first', 'third', 'second']);
  });
});
