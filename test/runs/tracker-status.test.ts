/** A status that may be older than the events: when the record is read again, and when the status is accepted. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { beforeRun } from '../../src/runs/outcome.ts';
import { event, message, Stage, statusEvent } from './support/stage.ts';

const onEvent = (): Promise<void> => Promise.resolve();
const every500 = (count: number): number[] => Array.from({ length: count }, (_, index) => (index + 1) * 500);

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

describe('a status that contradicts the events', () => {
  it('is accepted after 5 s when the message is the newest event', async () => {
    void stage.watch();
    await stage.deliver(message(), stage.state('finished'));
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual(every500(10));
    expect(stage.ended).toMatchObject({ atMs: 5_000, run: { outcome: { status: 'finished', exit_code: 0 } } });
  });

  it('is accepted after 1.5 s when the agent has acted since the message', async () => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual(every500(3));
    expect(stage.ended?.atMs).toBe(1_500);
  });

  it('is not accepted while the sandbox reports that the run is in progress', async () => {
    stage.inSandbox = () => Promise.resolve(stage.clock.now() < 10_000);
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(60_000);
    expect(stage.ended?.atMs).toBe(10_000);
  });

  it('is accepted when the sandbox does not answer within 5 s', async () => {
    stage.inSandbox = () => new Promise(() => undefined);
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(60_000);
    expect(stage.ended?.atMs).toBe(6_500);
  });

  it('is read again 250 ms after an event, or when that was due before', async () => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(450);
    await stage.deliver(event('activity'));
    await stage.clock.pass(150);
    await stage.deliver(statusEvent('other'));
    expect(stage.ended).toBeNull();
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual([500, 850]);
    expect(stage.ended).toMatchObject({ atMs: 850, run: { outcome: { last_event_id: stage.lastEventId } } });
  });

  it('is not read again after the follower has delivered one that is not final, and is doubted anew', async () => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(700);
    await stage.deliver(stage.state('running'));
    await stage.clock.pass(9_300);
    expect(stage.looks).toEqual([500]);
    await stage.deliver(stage.state('finished'));
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual([500, 10_500, 11_000, 11_500]);
    expect(stage.ended?.atMs).toBe(11_500);
  });

  it('is read again after a second when it could not be read', async () => {
    stage.onLook = () => {
      if (stage.looks.length === 1) throw new AppError('network', 'no connection');
    };
    void stage.watch();
    await stage.deliver(message(), stage.state('finished'));
    await stage.clock.pass(2_600);
    expect(stage.looks).toEqual([500, 1_500, 2_000, 2_500]);
  });

  it('is not accepted from a failure of the sandbox that may pass', async () => {
    const busy = { sandbox_status: 'error', may_recover: true } as const;
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    stage.state('failed', busy);
    await stage.clock.pass(3_400);
    expect([stage.looks, stage.ended]).toEqual([[500, 1_500, 2_500], null]);
    await stage.deliver(stage.state('failed', busy));
    expect(stage.ended?.run.outcome.status).toBe('failed');
  });

  it('is that of the run before for a run that the command has started, however long it is stable', async () => {
    const before = event('status:other');
    void stage.watch({ evidence: beforeRun(before.event.id), startedAfter: before.event });
    await stage.deliver(before, stage.state('finished', { sandbox_status: 'running' }));
    await stage.clock.pass(60_000);
    expect(stage.ended).toBeNull();
    await stage.deliver(message(), statusEvent('running'), statusEvent('other'), stage.state('failed'));
    expect(stage.ended?.run.outcome.status).toBe('failed');
  });
});

describe('a status that agrees with the events', () => {
  it('is the outcome although the last events are shown', async () => {
    void stage.watch({ onEvent });
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'), statusEvent('other'));
    await stage.clock.pass(60_000);
    expect([stage.ended?.atMs, stage.looks]).toEqual([250, [250]]);
  });

  it('that is not final is not read again after an event', async () => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('running'), event('activity'));
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual([]);
  });
});

describe('an end that the record shows before the follower', () => {
  const begin = async (): Promise<void> => {
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.deliver(statusEvent('other'));
    stage.state('failed');
  };

  it('is the outcome at once when no events are shown', async () => {
    void stage.watch();
    await begin();
    await stage.clock.pass(60_000);
    expect(stage.ended).toMatchObject({ atMs: 250, run: { outcome: { status: 'failed' } } });
  });

  it('is the outcome after 10 s when the last events do not come', async () => {
    void stage.watch({ onEvent });
    await begin();
    await stage.clock.pass(60_000);
    expect(stage.ended).toMatchObject({ atMs: 10_250, run: { outcome: { status: 'failed' } } });
    expect(stage.looks).toEqual([250]);
  });

  it('is the outcome 250 ms after the last event', async () => {
    void stage.watch({ onEvent });
    await begin();
    await stage.clock.pass(1_000);
    await stage.deliver(event('activity'));
    await stage.clock.pass(200);
    await stage.deliver(event('activity'));
    await stage.clock.pass(60_000);
    expect([stage.ended?.atMs, stage.looks]).toEqual([1_450, [250, 1_450]]);
    expect(stage.ended?.run.outcome.last_event_id).toBe(stage.lastEventId);
  });

  it('is the outcome when the last events cannot be read', async () => {
    void stage.watch({ onEvent });
    await begin();
    await stage.clock.pass(1_000);
    await stage.fail(new AppError('not-found', 'deleted'));
    expect(stage.ended).toMatchObject({ atMs: 1_000, run: { outcome: { status: 'failed' }, failure: null } });
  });

  it('is the outcome when the record cannot be read again', async () => {
    void stage.watch({ onEvent });
    await begin();
    await stage.clock.pass(1_000);
    stage.onLook = () => new Promise(() => undefined);
    await stage.deliver(event('activity'));
    await stage.clock.pass(60_000);
    expect(stage.ended).toMatchObject({ atMs: 10_250, run: { outcome: { status: 'failed' } } });
  });
});

describe('an agent that awaits the user', () => {
  it('has ended at once after a rejection', async () => {
    void stage.watch();
    await stage.deliver(message(), stage.state('idle'), event('rejection'));
    expect([stage.ended?.run.outcome.exit_code, stage.looks]).toEqual([8, []]);
  });

  it('has ended when that was stable for 1.5 s', async () => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state('idle'));
    await stage.clock.pass(5_000);
    await stage.deliver(event('status:awaiting-user'));
    await stage.clock.pass(60_000);
    expect(stage.looks).toEqual([5_250, 5_750, 6_250, 6_750]);
    expect(stage.ended).toMatchObject({ atMs: 6_750, run: { outcome: { exit_code: 8 } } });
  });
});

describe('the states and notices of a run', () => {
  it('are reported with whether they may be of the run before', async () => {
    const states: string[] = [];
    void stage.watch({ onState: ({ status }, run) => states.push(`${status} ${run}`) });
    await stage.deliver(stage.state('idle'), message(), stage.state('finished'), stage.state('running'));
    await stage.deliver(statusEvent('running'), statusEvent('other'), stage.state('failed'));
    expect(states).toEqual(['idle latest', 'finished perhaps-older', 'running latest', 'failed latest']);
  });

  it('include the reason why a run makes no progress, once', async () => {
    const because = (code: string) => ({ reason: { code, text: `because of ${code}` } });
    void stage.watch();
    await stage.deliver(
      stage.state('running'),
      stage.state('running', because('a')),
      stage.state('running', because('a')),
    );
    await stage.deliver(stage.state('running', because('b')), stage.state('running', { reason: null }));
    await stage.deliver(stage.state('idle', because('c')));
    expect(stage.notices).toEqual(['because of a', 'because of b']);
  });

  it('include the reason in the first state', async () => {
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

describe('a clock that wakes a sleeper early', () => {
  it('does not shorten the time without an event', async () => {
    stage.clock.earlyMs = 1;
    void stage.watch({ failOnStallMs: 60_000 });
    await stage.deliver(stage.state('running'));
    await stage.clock.pass(120_000);
    expect([stage.looks, stage.notices, stage.ended?.atMs]).toEqual([[60_000], [], 60_000]);
  });

  it('does not shorten the wait for the last events', async () => {
    void stage.watch({ onEvent });
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'), statusEvent('other'));
    stage.state('failed');
    await stage.clock.pass(1_000);
    stage.clock.earlyMs = 1;
    await stage.deliver({ type: 'notice', text: 'the connection is cut' });
    await stage.clock.pass(60_000);
    expect(stage.ended?.atMs).toBe(10_250);
  });
});

describe('a run without events', () => {
  it('has ended when its record is an end after ten minutes', async () => {
    void stage.watch();
    await stage.deliver(stage.state('running'));
    stage.state('finished');
    await stage.clock.pass(3_600_000);
    expect(stage.looks).toEqual([600_000]);
    expect(stage.ended).toMatchObject({ atMs: 600_000, run: { outcome: { status: 'finished' }, failure: null } });
  });

  it('is not reported while its record cannot be read', async () => {
    void stage.watch({ failOnStallMs: 60_000 });
    await stage.deliver(stage.state('running'));
    stage.onLook = () => {
      if (stage.looks.length === 1) throw new AppError('network', 'no connection');
    };
    await stage.clock.pass(3_600_000);
    expect([stage.looks, stage.notices]).toEqual([[60_000, 120_000], []]);
    expect(stage.ended).toMatchObject({ atMs: 120_000, run: { outcome: { exit_code: 124 } } });
  });

  it('has not ended by a failure of its sandbox that may pass', async () => {
    void stage.watch();
    await stage.deliver(stage.state('running'));
    stage.state('failed', { sandbox_status: 'error', may_recover: true });
    await stage.clock.pass(1_800_000);
    expect([stage.looks, stage.ended]).toEqual([[600_000, 1_200_000, 1_800_000], null]);
  });

  it('is not reported when it waits for something else', async () => {
    void stage.watch({ failOnStallMs: 60_000 });
    await stage.deliver(stage.state('idle'));
    await stage.clock.pass(1_800_000);
    expect([stage.looks.length, stage.notices, stage.ended]).toEqual([30, [], null]);
  });
});
