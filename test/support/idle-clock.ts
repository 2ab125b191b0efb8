/**
 * Time for tests whose commands, servers and clocks are all in this process: it passes only while nothing happens
 * here, the faster the longer nothing does. So limits of seconds can be tested in milliseconds, and a machine that is
 * slow or busy stretches the work between two moments without a limit coming nearer.
 */
import { performance } from 'node:perf_hooks';
import { inject, vi } from 'vitest';
import type { Clock } from '../../src/clock.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The process runs only files with an idle clock (vitest.config.ts). */
    passesWhileIdle: boolean;
  }
}

/** What this process waits for that is no matter of time: files, connections being made, processes it has started. */
const AT_WORK = /Req|^(Immediate|Process|TCPConnect|PipeConnect|Write|Shutdown)/;

/** Looks in a row at which nothing happens before time goes faster, and how much faster it goes in the end. */
const STILL_LOOKS = 5;
const FASTEST = 32;

interface Sleeper {
  atMs: number;
  wake: () => void;
}

/** @param speed how many milliseconds pass in each one of the wall that this process is idle in */
export function idleClock(speed = 1): Clock {
  if (!inject('passesWhileIdle')) throw new Error('add the import of this file to support/idle-clock-files.ts');
  const clock = new IdleClock(speed);
  return { now: () => clock.now(), sleep: (ms, signal) => clock.sleep(ms, signal) };
}

class IdleClock implements Clock {
  private readonly speed: number;
  private nowMs = Date.now();
  private sleepers: Sleeper[] = [];
  private isTicking = false;
  private seenEvents = -1;
  private idleLooks = 0;

  constructor(speed: number) {
    this.speed = speed;
  }

  now(): number {
    return this.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const abort = () => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason as Error);
      };
      const wake = () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const sleeper = { atMs: this.nowMs + ms, wake };
      this.sleepers.push(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
      this.tick();
    });
  }

  /** Looks every millisecond while somebody sleeps; one look late counts as one look. */
  private tick(): void {
    if (this.isTicking) return;
    this.isTicking = true;
    setTimeout(() => void this.look(), 1);
  }

  private async look(): Promise<void> {
    // What is loaded on use comes from another process, for which this one waits as if it had nothing to do.
    await vi.dynamicImportSettled();
    this.isTicking = false;
    this.idleLooks = this.isIdle() ? this.idleLooks + 1 : 0;
    if (this.idleLooks > 0) this.pass();
    if (this.sleepers.length > 0) this.tick();
  }

  private isIdle(): boolean {
    const { events } = performance.nodeTiming.uvMetricsInfo;
    const isQuiet = events === this.seenEvents;
    this.seenEvents = events;
    return isQuiet && !process.getActiveResourcesInfo().some((name) => AT_WORK.test(name));
  }

  /** Time does not go past anybody who sleeps: who is due is woken, and the rest comes with the next look. */
  private pass(): void {
    const nextMs = Math.min(...this.sleepers.map(({ atMs }) => atMs));
    const passesMs = this.speed * Math.min(2 ** Math.max(0, this.idleLooks - STILL_LOOKS), FASTEST);
    this.nowMs = Math.max(this.nowMs, Math.min(this.nowMs + passesMs, nextMs));
    const due = this.sleepers.filter(({ atMs }) => atMs <= this.nowMs);
    this.sleepers = this.sleepers.filter((sleeper) => !due.includes(sleeper));
    for (const { wake } of due) wake();
  }
}
