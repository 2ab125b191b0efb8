/** The clock of tests, and the wait for a condition. */
import { performance } from 'node:perf_hooks';
import { inject, vi } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';

// Code that sleeps more often than this in one step of a test does not end.

const MOST_WAKES = 2_000;
/**
 * The longest real time that a sleep takes where sleeps move the time: connections have time to
 * make progress.
 */
const MOST_REAL_MS = 5;

export interface TestClockOptions {
  /**
   * What moves the time, besides `pass`. `nothing`: the test alone (default). `sleeps`: each sleep
   * is soon over, and the time moves on by its length. `real-time`: the time of the machine.
   */
  movedBy?: 'nothing' | 'sleeps' | 'real-time';
  /**
   * A sleep of so long is a limit for something else. Only `pass` ends it, so that no limit is
   * reached because the machine is slow. Default 10 s.
   */
  limitMs?: number;
  /** How many milliseconds pass in one of the machine, with `real-time`. */
  speed?: number;
  startMs?: number;
}

interface Sleeper {
  atMs: number;
  isLimit: boolean;
  end: () => void;
}

/** The clock of tests. */
export class TestClock implements Clock {
  /**
   * How much earlier than requested a sleep ends, as one of Node may by a fraction of a
   * millisecond.
   */
  earlyMs = 0;
  /** Called before each sleep. */
  onSleep: (ms: number) => void = () => undefined;
  /** The length of each sleep. */
  readonly pauses: number[] = [];
  private readonly options: Required<TestClockOptions>;
  private readonly startedAtMs = Date.now();
  /** On top of the time of the machine with `real-time`; else all of the time that has passed. */
  private passedMs = 0;
  private sleepers: Sleeper[] = [];

  constructor({
    movedBy = 'nothing',
    limitMs = 10_000,
    speed = 1,
    startMs = 0,
  }: TestClockOptions = {}) {
    this.options = { movedBy, limitMs, speed, startMs };
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.sleepers.length;
  }

  now = (): number => {
    const { movedBy, speed, startMs } = this.options;
    const realMs = movedBy === 'real-time' ? (Date.now() - this.startedAtMs) * speed : 0;
    return startMs + realMs + this.passedMs;
  };

  sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    this.onSleep(ms);
    signal?.throwIfAborted();
    this.pauses.push(ms);
    let timer: NodeJS.Timeout | undefined;
    let abort = (): void => undefined;
    const atMs = this.now() + (ms > this.earlyMs ? ms - this.earlyMs : ms);
    const sleeper = { atMs, isLimit: ms >= this.options.limitMs, end: (): void => undefined };
    this.sleepers.push(sleeper);
    try {
      await new Promise<void>((resolve, reject) => {
        sleeper.end = resolve;
        abort = () => reject(signal?.reason as Error);
        signal?.addEventListener('abort', abort, { once: true });
        const realMs = this.realMs(ms);
        if (realMs !== null) timer = setTimeout(() => this.moveTo(atMs, 'pauses'), realMs);
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      this.sleepers = this.sleepers.filter((other) => other !== sleeper);
    }
  };

  /**
   * Moves the time on; each sleep ends at its time, and what follows from it happens before the
   * next one ends.
   */
  async pass(ms: number): Promise<void> {
    const untilMs = this.now() + ms;
    for (let wakes = 0; ; wakes++) {
      if (wakes > MOST_WAKES)
        throw new Error(`the code under test has slept ${MOST_WAKES} times within ${ms} ms`);
      await settled();
      const nextMs = this.nextMs();
      if (nextMs > untilMs) break;
      this.moveTo(nextMs, 'first');
    }
    this.moveTo(untilMs);
    await settled();
  }

  /** When the next sleep ends; Infinity without one. */
  nextMs(): number {
    return Math.min(...this.sleepers.map(({ atMs }) => atMs));
  }

  /**
   * Moves the time on at once, never back, and ends the sleeps that are due then, without the
   * limits, or the first.
   */
  moveTo(atMs: number, ended: 'all' | 'pauses' | 'first' = 'all'): void {
    this.passedMs += Math.max(atMs - this.now(), 0);
    const due = this.sleepers
      .filter((sleeper) => sleeper.atMs <= atMs)
      .toSorted((one, other) => one.atMs - other.atMs);
    const ending =
      ended === 'first'
        ? due.slice(0, 1)
        : due.filter(({ isLimit }) => ended === 'all' || !isLimit);
    this.sleepers = this.sleepers.filter((sleeper) => !ending.includes(sleeper));
    for (const { end } of ending) end();
  }

  /** The real time after which a sleep ends by itself; null: never. */
  private realMs(ms: number): number | null {
    const { movedBy, limitMs, speed } = this.options;
    if (movedBy === 'nothing' || ms >= limitMs) return null;
    return movedBy === 'sleeps' ? Math.min(ms, MOST_REAL_MS) : ms / speed;
  }
}

/** Lets everything run that waits for nothing but other code. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

// The test clock for tests whose commands, servers and clocks are all in this process: it passes
// only while nothing happens here, the faster the longer nothing does. So limits of seconds can be
// tested in milliseconds, and a machine that is slow or busy stretches the work between two moments
// without a limit coming nearer.

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
    throw new Error('add the import of this file to vitest.config.ts');
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

/**
 * Long enough for a machine ten times as slow: a bound that is hit means that the condition never
 * comes true.
 */
const BOUND_MS = 60_000;

/** Until the condition holds; throws after a minute. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const endMs = Date.now() + BOUND_MS;
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error('the condition did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
