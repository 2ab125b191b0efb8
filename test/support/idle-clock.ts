/**
 * The test clock for tests whose commands, servers and clocks are all in this process: it passes
 * only while nothing happens here, the faster the longer nothing does. So limits of seconds can be
 * tested in milliseconds, and a machine that is slow or busy stretches the work between two moments
 * without a limit coming nearer.
 */
import { performance } from 'node:perf_hooks';
import { inject, vi } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { TestClock } from './test-clock.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The process runs only files with an idle clock (vitest.config.ts). */
    passesWhileIdle: boolean;
  }
}

/**
 * What this process waits for that is no matter of time: files, connections being made, processes
 * it has started.
 */
const AT_WORK = /Req|^(Immediate|Process|TCPConnect|PipeConnect|Write|Shutdown)/;

/**
 * Looks in a row at which nothing happens before time goes faster, and how much faster it goes in
 * the end.
 */
const STILL_LOOKS = 5;
const FASTEST = 32;

/** @param speed how many milliseconds pass in each one of the wall that this process is idle in */
export function idleClock(speed = 1): Clock {
  if (!inject('passesWhileIdle'))
    throw new Error('add the import of this file to support/idle-clock-files.ts');
  const clock = new TestClock({ startMs: Date.now() });
  const mover = new IdleMover(clock, speed);
  clock.onSleep = () => mover.tick();
  return clock;
}

/** Moves the time of a clock while the process is idle. */
class IdleMover {
  private readonly clock: TestClock;
  private readonly speed: number;
  private isTicking = false;
  private seenEvents = -1;
  private idleLooks = 0;

  constructor(clock: TestClock, speed: number) {
    this.clock = clock;
    this.speed = speed;
  }

  /** Looks every millisecond while a sleep has not ended; one look late counts as one look. */
  tick(): void {
    if (this.isTicking) return;
    this.isTicking = true;
    setTimeout(() => void this.look(), 1);
  }

  private async look(): Promise<void> {
    // What is loaded on use comes from another process, for which this one waits as if it had
    // nothing to do.
    await vi.dynamicImportSettled();
    this.isTicking = false;
    this.idleLooks = this.isIdle() ? this.idleLooks + 1 : 0;
    if (this.idleLooks > 0) this.pass();
    if (this.clock.sleeping > 0) this.tick();
  }

  private isIdle(): boolean {
    const { events } = performance.nodeTiming.uvMetricsInfo;
    const isQuiet = events === this.seenEvents;
    this.seenEvents = events;
    return isQuiet && !process.getActiveResourcesInfo().some((name) => AT_WORK.test(name));
  }

  /** Time does not pass the end of a sleep: what follows from it happens before the next look. */
  private pass(): void {
    const { clock, speed } = this;
    const passesMs = speed * Math.min(2 ** Math.max(0, this.idleLooks - STILL_LOOKS), FASTEST);
    clock.moveTo(Math.min(clock.now() + passesMs, clock.nextMs()));
  }
}
