/**
 * A status that may be older than the events: when the record is read again, and when the status is
 * accepted.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ConversationStatus } from '../../src/domain/conversation.ts';
import type { RunSignal } from '../../src/domain/event.ts';
import { AppError } from '../../src/base/errors.ts';
import { beforeRun } from '../../src/runs/outcome.ts';
import { event, message, Stage, statusEvent } from './support/source.ts';

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

/**
 * Words: the signal of an event, `=status` of a record that the follower delivers, `~status` of one
 * that is there when it is read, `+1500` milliseconds that pass.
 */
async function play(words: string): Promise<void> {
  for (const word of words.split(' ')) {
    const rest = word.slice(1) as ConversationStatus;
    if (word.startsWith('+')) await stage.clock.pass(Number(rest));
    else if (word.startsWith('=')) await stage.deliver(stage.state(rest));
    else if (word.startsWith('~')) stage.state(rest);
    else {
      const isPlain = ['message', 'activity', 'rejection'].includes(word);
      await stage.deliver(event((isPlain ? word : `status:${word}`) as RunSignal));
    }
  }
}

describe('a run that is tracked', () => {
  const to = (count: number): number[] =>
    Array.from({ length: count }, (_, index) => (index + 1) * 500);

  it.each<[string, string, number[], string]>([
    ['ends with its status', 'message running =running other =finished', [], 'finished 0 at 0'],
    ['ends 5 s after the message', 'message =finished +60000', to(10), 'finished 0 at 5000'],
    [
      'ends 1.5 s after an act of the agent',
      'message running =finished +60000',
      to(3),
      'finished 0 at 1500',
    ],
    [
      'is read 250 ms after an event, or when that was due before',
      'message running =finished +450 activity +150 other +60000',
      [500, 850],
      'finished 0 at 850',
    ],
    [
      'is not read again after a status that is not final, and the next one is not accepted sooner',
      'message running =finished +700 =running +9300 =finished +60000',
      [500, 10_500, 11_000, 11_500],
      'finished 0 at 11500',
    ],
    ['ends after a rejection', 'message =idle rejection', [], 'idle 8 at 0'],
    [
      'ends when the agent has awaited the user for 1.5 s',
      'message running =idle +5000 awaiting-user +60000',
      [5_250, 5_750, 6_250, 6_750],
      'idle 8 at 6750',
    ],
    ['is not read again after an event', 'message running =running activity +60000', [], 'runs on'],
    [
      'is read after ten minutes without events',
      '=running ~finished +3600000',
      [600_000],
      'finished 0 at 600000',
    ],
  ])('%s: "%s"', async (_, words, reads, ended) => {
    void stage.watch();
    await play(words);
    const { atMs, run } = stage.ended ?? {};
    const outcome =
      run === undefined ? 'runs on' : `${run.outcome.status} ${run.outcome.exit_code} at ${atMs}`;
    expect([stage.looks, outcome]).toEqual([reads, ended]);
  });

  it.each([
    [
      'while the sandbox reports that it is in progress',
      () => Promise.resolve(stage.clock.now() < 10_000),
      10_000,
    ],
    [
      'for 5 s when the sandbox does not answer',
      () => new Promise<boolean>(() => undefined),
      6_500,
    ],
    [
      'no longer after a failed read of the sandbox',
      () => Promise.reject(new AppError('network', 'cut')),
      1_500,
    ],
    [
      'no longer when the sandbox is not found',
      () => Promise.reject(new AppError('not-found', 'gone')),
      1_500,
    ],
  ])('continues %s', async (_, inSandbox, endMs) => {
    stage.inSandbox = inSandbox;
    void stage.watch();
    await play('message running =finished +60000');
    expect(stage.ended).toMatchObject({ atMs: endMs, run: { outcome: { exit_code: 0 } } });
  });

  it.each([new AppError('interrupted', 'SIGINT'), new TypeError('a fault in acs')])(
    'throws: %s',
    async (error) => {
      stage.inSandbox = () => Promise.reject(error);
      const watched = stage.watch();
      watched.catch(() => undefined);
      await play('message running =finished +60000');
      await expect(watched).rejects.toBe(error);
    },
  );

  it('does not end with the status of the run before when the command has started it', async () => {
    const before = event('status:other');
    void stage.watch({ summary: beforeRun(before.event.id), startedAfter: before.event });
    await stage.deliver(before, stage.state('finished', { sandbox_status: 'running' }));
    await stage.clock.pass(60_000);
    expect(stage.ended).toBeNull();
    await play('message running other =failed');
    expect(stage.ended?.run.outcome.status).toBe('failed');
  });

  it('is not shortened by a clock that wakes a sleeper early', async () => {
    stage.clock.earlyMs = 1;
    void stage.watch({ failOnStallMs: 60_000 });
    await play('=running +120000');
    expect([stage.looks, stage.notices, stage.ended?.atMs]).toEqual([[60_000], [], 60_000]);
  });

  it('is read each minute while it waits for something else', async () => {
    void stage.watch({ failOnStallMs: 60_000 });
    await play('=idle +1800000');
    expect([stage.looks.length, stage.notices, stage.ended]).toEqual([30, [], null]);
  });

  it('ends on a signal with its exit code, and prints that the run continues', async () => {
    const watched = stage.watch();
    await play('=running');
    stage.interruption.abort(
      new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }),
    );
    expect(await watched).toMatchObject({
      outcome: { status: 'running', exit_code: 130 },
      failure: { message: 'interrupted by SIGINT; conversation c (running) continues' },
    });
  });
});

describe('the states and notices of a run', () => {
  it('are reported with whether they may be of the run before', async () => {
    const states: string[] = [];
    void stage.watch({ onState: ({ status }, run) => states.push(`${status} ${run}`) });
    await stage.deliver(
      stage.state('idle'),
      message(),
      stage.state('finished'),
      stage.state('running'),
    );
    await stage.deliver(statusEvent('running'), statusEvent('other'), stage.state('failed'));
    expect(states).toEqual([
      'idle none',
      'finished perhaps-older',
      'running latest',
      'failed latest',
    ]);
  });

  it('include the reason of a run without progress', async () => {
    void stage.watch();
    await stage.deliver(stage.state('running', { reason: { code: 'a', text: 'because of a' } }));
    expect(stage.notices).toEqual(['because of a']);
  });

  it('include those of the follower', async () => {
    const notices: string[] = [];
    void stage.watch({ onNotice: (text) => Promise.resolve(void notices.push(text)) });
    await stage.deliver({ type: 'notice', text: 'the connection is cut' });
    expect([notices, stage.notices]).toEqual([['the connection is cut'], []]);
  });
});
