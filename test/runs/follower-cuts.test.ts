import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { settled } from '../support/test-clock.ts';
import { ScriptedSource, sourceEvent, unreachable } from './support/source.ts';

const CUT = '!connection lost; reconnecting, and missed events will be shown';

let source: ScriptedSource;
beforeEach(() => {
  source = new ScriptedSource();
});

describe('a connection that is cut', () => {
  const failing = (): void => {
    source.onLook = () => {
      throw unreachable();
    };
  };

  it('is reported after 5 s at the start', async () => {
    let looks = 0;
    source.onLook = () => {
      if (++looks <= 6) throw unreachable();
    };
    await source.start();
    await source.clock.pass(7_499);
    expect(source.lines).toEqual([]);
    await source.clock.pass(15_000);
    expect(source.timesOf('record').slice(0, 7)).toEqual([
      0, 500, 1_500, 3_500, 7_500, 12_500, 17_500,
    ]);
    expect(source.lines).toEqual([CUT, '=running']);
  });

  it('is reported after 5 s, once for each cut', async () => {
    await source.start();
    for (let cut = 0; cut < 2; cut++) {
      failing();
      await source.clock.pass(20_000);
      source.onLook = () => undefined;
      await source.clock.pass(20_000);
    }
    expect(source.lines).toEqual(['=running', CUT, CUT]);
  });

  it('is reported when it has lasted exactly 5 s', async () => {
    await source.start();
    let looks = 0;
    source.onLook = async () => {
      if (++looks === 4) await source.clock.sleep(1_500);
      throw unreachable();
    };
    await source.clock.pass(5_999);
    expect(source.lines).toEqual(['=running']);
    await source.clock.pass(1);
    expect(source.lines).toEqual(['=running', CUT]);
  });

  it('is reported with the answer of a server that answers, and with that alone', async () => {
    await source.start();
    source.onLook = () => {
      throw new AppError('server', 'the server answered 500 to GET /api/x: out of memory');
    };
    await source.clock.pass(20_000);
    const answer =
      '!the server answered 500 to GET /api/x: out of memory; trying again, and missed ' +
      'events will be shown';
    expect(source.lines).toEqual(['=running', answer]);
  });

  it('is not reported when it is shorter', async () => {
    await source.start();
    failing();
    await source.clock.pass(5_900);
    source.onLook = () => undefined;
    await source.clock.pass(20_000);
    expect(source.lines).toEqual(['=running']);
  });

  it('is retried after pauses that grow to 5 s, and from the shortest one after it was restored', async () => {
    await source.start();
    failing();
    await source.clock.pass(19_000);
    expect(source.timesOf('record')).toEqual([
      0, 1_000, 1_500, 2_500, 4_500, 8_500, 13_500, 18_500,
    ]);
    source.onLook = () => undefined;
    await source.clock.pass(5_000);
    failing();
    await source.clock.pass(2_000);
    expect(source.timesOf('record').slice(8)).toEqual([23_500, 24_500, 25_000, 26_000]);
  });

  it('ends following after 5 minutes', async () => {
    await source.start();
    await source.clock.pass(19_500);
    let looks = 0;
    source.onLook = async () => {
      // So that a retry comes at exactly 5 minutes.
      if (++looks === 5) await source.clock.sleep(2_500);
      throw unreachable();
    };
    await source.clock.pass(300_499);
    expect(source.endedWith).toBe('not ended');
    await source.clock.pass(1);
    expect(source.endedWith).toMatchObject({ kind: 'network' });
  });

  it('ends following at once when the error does not pass', async () => {
    await source.start();
    source.onLook = () => {
      throw new AppError('not-found', 'deleted');
    };
    await source.clock.pass(1_000);
    expect(source.endedWith).toMatchObject({ kind: 'not-found' });
  });
});

describe('following that is aborted', () => {
  const interruption = new AppError('interrupted', 'SIGINT');

  it.each(['run', 'options'] as const)(
    'ends with the reason of the signal of the %s in a pause',
    async (which) => {
      const stop = new AbortController();
      await source.start({ signal: stop.signal });
      (which === 'run' ? source.run : stop).abort(interruption);
      await settled();
      expect(source.endedWith).toBe(interruption);
      expect(source.timesOf('record')).toEqual([0]);
    },
  );

  it('ends without another request in a pause of the start', async () => {
    source.onLook = () => {
      throw unreachable();
    };
    await source.start();
    source.run.abort(interruption);
    await settled();
    expect([source.endedWith, source.timesOf('record')]).toEqual([interruption, [0]]);
  });

  it('ends without a pause after a request that was not aborted', async () => {
    await source.start();
    source.onLook = () => {
      if (source.clock.now() > 0) source.run.abort(interruption);
    };
    await source.clock.pass(1_000);
    expect([source.endedWith, source.clock.pauses]).toEqual([interruption, [1_000]]);
  });

  it('ends without another request while an item was shown', async () => {
    const items = source.items();
    expect((await items.next()).value).toMatchObject({ type: 'state' });
    await source.clock.pass(10_000);
    source.run.abort(interruption);
    await expect(items.next()).rejects.toBe(interruption);
    expect(source.timesOf('record')).toEqual([0]);
  });

  it('ends between two stored events', async () => {
    source.stored = [sourceEvent('a'), sourceEvent('b'), sourceEvent('c')];
    const items = source.items();
    await items.next();
    source.run.abort(interruption);
    await expect(items.next()).rejects.toBe(interruption);
  });
});
