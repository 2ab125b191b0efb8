import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { settled } from '../support/test-clock.ts';
import { ScriptedSource, sourceEvent, unreachable } from './support/source.ts';

/** How long a frame is kept for an older one. */
const KEPT_MS = 20;
const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
let source: ScriptedSource;
beforeEach(() => {
  source = new ScriptedSource();
});

describe('following with a socket', () => {
  beforeEach(() => {
    source.hasSocket = true;
  });

  it('delivers events as they come, and reads the record at the longer interval', async () => {
    await source.start();
    const [socket] = source.sockets;
    await socket?.send(sourceEvent('a'), sourceEvent('a'), sourceEvent('b'));
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', 'a', 'b']);
    await source.clock.pass(7_000);
    expect(source.timesOf('record')).toEqual([0, 3_000, 6_000]);
    expect([source.timesOf('open'), source.timesOf('read')]).toEqual([[0], [0]]);
  });

  it('reads the record at once when an event reports a status', async () => {
    await source.start();
    source.set({ status: 'idle', execution_status: 'idle' });
    await source.clock.pass(100);
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'idle' }), sourceEvent('b'));
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', 'a', 'b', '=idle']);
    expect(source.timesOf('record')).toEqual([0, 120]);
    await source.clock.pass(3_000);
    expect(source.timesOf('record')).toEqual([0, 120, 3_120]);
  });

  it('reads the record four more times within a second while it is older than the event', async () => {
    await source.start();
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'finished' }));
    await source.clock.pass(2_000);
    expect(source.timesOf('record')).toEqual([0, 20, 145, 332.5, 613.75, 1_035.625]);
    expect(source.lines).toEqual(['=running', 'a']);
  });

  it('ends those reads with the first record that is as new', async () => {
    await source.start();
    source.onLook = () => {
      if (source.clock.now() >= 300) source.set({ status: 'idle', execution_status: 'idle' });
    };
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'idle' }));
    await source.clock.pass(2_000);
    expect(source.timesOf('record')).toEqual([0, 20, 145, 332.5]);
    expect(source.lines).toEqual(['=running', 'a', '=idle']);
  });

  it('reads a record that took longer than these reads a second time', async () => {
    await source.start();
    source.onLook = () => source.clock.sleep(900, source.run.signal);
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'idle' }));
    await source.clock.pass(930);
    source.onLook = () => source.set({ status: 'idle', execution_status: 'idle' });
    await source.clock.pass(200);
    expect(source.timesOf('record')).toHaveLength(3);
    expect(source.lines).toEqual(['=running', 'a', '=idle']);
  });

  it('takes a record without a status as new', async () => {
    await source.start();
    source.set({ status: 'idle', execution_status: null });
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'finished' }));
    await source.clock.pass(2_000);
    expect(source.timesOf('record')).toEqual([0, 20]);
  });

  it('delivers frames of at most 20 ms in the order of their times', async () => {
    await source.start();
    const [socket] = source.sockets;
    await socket?.send(sourceEvent('c', { timestamp: at(3) }));
    await source.clock.pass(KEPT_MS - 1);
    await socket?.send(sourceEvent('b', { timestamp: at(2) }));
    expect(source.lines).toEqual(['=running']);
    await source.clock.pass(1);
    expect(source.lines).toEqual(['=running', 'b', 'c']);
    await socket?.send(sourceEvent('d', { timestamp: at(4) }));
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', 'b', 'c', 'd']);
  });

  it.each([
    ['to the microsecond', ['02.000003', '01', '02.000002'], '120'],
    ['in any time zone', ['02-01:00', '03+01:00'], '10'],
    [
      'and leaves a frame with an unreadable time, or with the same one, where it came',
      ['02', 'soon', '01', '01'],
      '0123',
    ],
  ])('delivers frames in the order of their times, %s', async (_, times, order) => {
    await source.start();
    const frames = times.map((time, index) =>
      sourceEvent(`${index}`, { timestamp: `2026-11-21T10:00:${time}` }),
    );
    await source.sockets[0]?.send(...frames);
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', ...order]);
  });

  it('delivers a frame from before a cut after the older events that the cut has lost', async () => {
    await source.start();
    source.stored = [
      sourceEvent('a', { timestamp: at(1) }),
      sourceEvent('b', { timestamp: at(2) }),
    ];
    source.onLook = () => {
      if (source.clock.now() < 1_000) throw unreachable();
    };
    await source.sockets[0]?.send(sourceEvent('b', { timestamp: at(2) }));
    await source.sockets[0]?.cut();
    await source.clock.pass(900);
    expect(source.lines).toEqual(['=running']);
    await source.clock.pass(2_000);
    expect(source.lines).toEqual(['=running', 'a', 'b']);
  });

  it('delivers a frame that comes during a read after the older frame that it has overtaken', async () => {
    await source.start();
    source.onRead = () => void source.sockets[1]?.send(sourceEvent('c', { timestamp: at(3) }));
    await source.sockets[0]?.cut();
    await source.sockets[1]?.send(sourceEvent('b', { timestamp: at(2) }));
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', 'b', 'c']);
  });

  describe('when the frame of an action comes after that of its result', () => {
    const action = sourceEvent('action', { timestamp: at(2) });
    const result = sourceEvent('result', { timestamp: at(3), action_id: 'action' });

    it('reads the stored events before it delivers the result', async () => {
      await source.start();
      source.stored = [sourceEvent('a', { timestamp: at(1) }), action, result];
      await source.sockets[0]?.send(result);
      await source.clock.pass(KEPT_MS);
      await source.sockets[0]?.send(action);
      await source.clock.pass(KEPT_MS);
      expect(source.lines).toEqual(['=running', 'a', 'action', 'result']);
      expect(source.timesOf('read')).toEqual([0, KEPT_MS]);
    });

    it('reads nothing when the action has come in the meantime', async () => {
      await source.start();
      await source.sockets[0]?.send(result, action);
      await source.clock.pass(KEPT_MS);
      await source.sockets[0]?.send(sourceEvent('second', { action_id: 'action' }));
      await source.clock.pass(KEPT_MS);
      expect(source.lines).toEqual(['=running', 'action', 'result', 'second']);
      expect(source.timesOf('read')).toEqual([0]);
    });

    it('delivers the result when the server does not answer the read', async () => {
      await source.start();
      source.onRead = () => {
        throw unreachable();
      };
      await source.sockets[0]?.send(result);
      await source.clock.pass(KEPT_MS);
      expect(source.lines).toEqual(['=running', 'result']);
      expect(source.timesOf('read')).toEqual([0, KEPT_MS]);
    });
  });

  it('delivers an end that an event reports although the status before it was the same', async () => {
    source.set({ status: 'finished', execution_status: 'finished' });
    await source.start();
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'finished' }));
    await source.clock.pass(10_000);
    expect(source.lines).toEqual(['=finished', 'a', '=finished']);
  });

  it('delivers an end once when the record reports it before its event is read', async () => {
    await source.start();
    source.set({ status: 'finished', execution_status: 'finished' });
    source.stored = [sourceEvent('a', { execution_status: 'finished' })];
    await source.clock.pass(10_000);
    expect(source.lines).toEqual(['=running', 'a', '=finished']);
  });

  it('delivers the next run that begins before the end of the last one is delivered', async () => {
    await source.start();
    source.set({ status: 'finished', execution_status: 'finished' });
    source.stored = [
      sourceEvent('a', { execution_status: 'finished' }),
      sourceEvent('b', { execution_status: 'running' }),
    ];
    source.onRead = () => source.set({ status: 'running', execution_status: 'running' });
    await source.clock.pass(10_000);
    expect(source.lines).toEqual(['=running', 'a', 'b', '=finished', '=running']);
  });

  it('does not deliver again a status that is not final', async () => {
    await source.start();
    await source.sockets[0]?.send(sourceEvent('a', { execution_status: 'running' }));
    await source.clock.pass(KEPT_MS);
    expect(source.lines).toEqual(['=running', 'a']);
  });

  it('delivers frames that came before a cut, opens another socket at once and reads what it missed', async () => {
    await source.start();
    const [socket] = source.sockets;
    await socket?.send(sourceEvent('a'));
    source.stored = [sourceEvent('a'), sourceEvent('b')];
    await socket?.cut();
    expect(source.lines).toEqual(['=running', 'a', 'b']);
    expect([source.timesOf('open'), source.timesOf('record').length]).toEqual([[0, 0], 2]);
  });

  it('reads the record anew when what was missed reports a status', async () => {
    await source.start();
    source.set({ status: 'idle', execution_status: 'idle' });
    source.onRead = () => source.set({ status: 'starting', execution_status: 'starting' });
    source.stored = [sourceEvent('a', { execution_status: 'starting' })];
    await source.sockets[0]?.cut();
    expect(source.lines).toEqual(['=running', 'a', '=starting']);
  });

  it('waits longer and longer for sockets that are closed within 10 s', async () => {
    source.onOpen = (socket) => {
      if (source.sockets.length <= 7) socket.closed = { code: 1013 };
    };
    await source.start();
    await source.clock.pass(60_000);
    const opened = source.timesOf('open');
    expect(opened.map((at, index) => at - (opened[index - 1] ?? 0))).toEqual([
      0, 0, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000,
    ]);
    await source.clock.pass(10_000);
    expect(source.timesOf('open')).toHaveLength(8);
  });

  it('opens another socket at once for each one that has delivered an event', async () => {
    source.onOpen = (socket) => {
      void socket.send(sourceEvent(`event ${source.sockets.length}`));
      if (source.sockets.length <= 7) socket.closed = { code: 1006 };
    };
    await source.start();
    await source.clock.pass(1_000);
    expect(source.timesOf('open')).toHaveLength(8);
    expect(source.timesOf('open').at(-1)).toBeLessThan(300);
  });

  it.each(['a repeated event', 'no event'])(
    'waits for another socket after ones that delivered %s',
    async (what) => {
      source.stored = [sourceEvent('a')];
      source.onOpen = (socket) => {
        void socket.send(
          what === 'no event'
            ? sourceEvent(`delta ${source.sockets.length}`, { event: null })
            : sourceEvent('a'),
        );
        if (source.sockets.length <= 5) socket.closed = { code: 1006 };
      };
      await source.start();
      await source.clock.pass(10_000);
      expect(source.timesOf('open').at(4)).toBeGreaterThanOrEqual(3_000);
    },
  );

  it.each([4001, 4004])(
    'reads once whether a close with %i is confirmed, and ends with the error',
    async (code) => {
      const refused = new AppError(code === 4001 ? 'auth' : 'not-found', 'refused');
      let asked = 0;
      source.confirmRefusal = () => Promise.reject((asked += 1) === 1 ? refused : unreachable());
      await source.start();
      await source.sockets[0]!.cut(code);
      expect([asked, source.endedWith]).toEqual([1, refused]);
    },
  );

  it('connects again after a refusal where a source cannot confirm it', async () => {
    await source.start();
    source.stored = [sourceEvent('a')];
    await source.sockets[0]?.cut(4001);
    await source.clock.pass(2_000);
    expect([source.sockets.length, source.lines, source.endedWith]).toEqual([
      2,
      ['=running', 'a'],
      'not ended',
    ]);
  });

  it('continues when the refusal is not confirmed, and reads nothing after another close', async () => {
    let asked = 0;
    source.confirmRefusal = () => Promise.resolve(void (asked += 1));
    await source.start();
    source.stored = [sourceEvent('a')];
    await source.sockets[0]?.cut(4001);
    await source.sockets[1]?.cut(1001);
    await source.clock.pass(2_000);
    expect([asked, source.lines, source.endedWith]).toEqual([1, ['=running', 'a'], 'not ended']);
  });

  it.each([
    [9_999, 1_000],
    [10_000, 0],
  ])(
    'opens another socket for one that was open for %i ms after %i ms when the one before was refused',
    async (openMs, waitMs) => {
      source.onOpen = (socket) => {
        if (source.sockets.length === 1) socket.closed = { code: 1013 };
      };
      await source.start();
      await source.clock.pass(100);
      const openedAtMs = source.timesOf('open').at(-1) ?? 0;
      await source.clock.pass(openedAtMs + openMs - source.clock.now());
      await source.sockets[1]?.cut();
      await source.clock.pass(2_000);
      expect(source.timesOf('open').slice(2)).toEqual([openedAtMs + openMs + waitMs]);
    },
  );

  it('reads the stored events when the socket was silent for 30 s, and keeps it when it missed none', async () => {
    await source.start();
    await source.clock.pass(20_000);
    await source.sockets[0]?.send(sourceEvent('a'));
    source.stored = [sourceEvent('a')];
    await source.clock.pass(61_000);
    // With each read of the record.
    expect(source.timesOf('read')).toEqual([0, 51_000, 81_000]);
    expect(source.sockets).toHaveLength(1);
  });

  it('replaces a silent socket that missed an event', async () => {
    await source.start();
    source.stored = [sourceEvent('missed')];
    await source.clock.pass(30_000);
    expect(source.lines).toEqual(['=running', 'missed']);
    await source.clock.pass(20);
    expect(source.timesOf('open')).toEqual([0, 30_020]);
    expect(source.sockets[0]?.closedByFollower).toBe(true);
  });

  it('replaces a silent socket once when it is cut while the stored events are read', async () => {
    await source.start();
    source.stored = [sourceEvent('missed')];
    source.onRead = () => {
      if (source.clock.now() === 30_000 && source.sockets[0])
        source.sockets[0].closed = { code: 1006 };
    };
    await source.clock.pass(33_000);
    expect(source.lines).toEqual(['=running', 'missed']);
    expect([source.sockets.length, source.endedWith]).toEqual([2, 'not ended']);
  });

  it('closes the socket when it ends', async () => {
    await source.start();
    source.run.abort(new AppError('interrupted', 'SIGINT'));
    await settled();
    expect(source.sockets[0]?.closedByFollower).toBe(true);
  });
});
