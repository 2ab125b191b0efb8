import { describe, expect, it } from 'vitest';
import { createActivity, watchIdle } from '../../../src/service/lifecycle/activity.ts';

function clockAt(ms: number) {
  return { ms, now: () => clock.ms, stamp: () => '' };
}
let clock = clockAt(0);

describe('the activity of a service', () => {
  it('is idle since the end of the last request, and not while one is open', () => {
    clock = clockAt(1000);
    const activity = createActivity(clock);
    clock.ms = 3000;
    expect(activity.idleSeconds()).toBe(2);
    activity.begin();
    activity.begin();
    clock.ms = 9000;
    activity.end();
    expect(activity.idleSeconds()).toBe(0);
    activity.end();
    clock.ms = 9500;
    expect(activity.idleSeconds()).toBe(0.5);
    clock.ms = 0; // the clock of the system was set back
    expect(activity.idleSeconds()).toBe(0);
  });
});

describe('the end of an idle service', () => {
  it('comes the whole timeout after the end of the last run', async () => {
    clock = clockAt(0);
    const checks: boolean[] = [];
    await new Promise<void>((resolve) => {
      const isBusy = (): boolean => {
        clock.ms += 30;
        checks.push(checks.length < 3);
        return checks.at(-1) === true;
      };
      watchIdle(createActivity(clock), 50, isBusy, resolve);
    });
    expect(checks).toEqual([true, true, true, false, false]);
  });

  it('never comes with the timeout 0, or once the watch was stopped', async () => {
    clock = clockAt(0);
    const activity = createActivity(clock);
    clock.ms = 1_000_000;
    const ended: string[] = [];
    const watch = (timeoutMs: number, onIdle: () => void) =>
      watchIdle(activity, timeoutMs, () => false, onIdle);
    watch(0, () => ended.push('without a timeout'));
    watch(1, () => ended.push('stopped'))();
    await new Promise<void>((resolve) => {
      watch(100, resolve);
    });
    expect(ended).toEqual([]);
  });
});
