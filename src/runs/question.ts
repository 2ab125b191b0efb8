/** The confirmation that a run waits for, while the run is tracked. */
import type { Context } from '../context.ts';
import { beforeTime } from './deadline.ts';
import type { Answerer, TrackedRun } from './tracker-options.ts';

/** `left`: the outcome of a run that is left waiting; null for one that was answered. */
export interface Answered {
  left: TrackedRun | null;
}

export class OpenQuestion {
  private readonly answerer: Answerer;
  private answering: Promise<Answered> | null = null;
  /** The outcome if nobody answers. */
  private unanswered: TrackedRun | null = null;

  constructor(answerer: Answerer) {
    this.answerer = answerer;
  }

  get isOpen(): boolean {
    return this.answering !== null;
  }

  /** Settles when it is answered or left. */
  get answers(): readonly Promise<Answered>[] {
    return this.answering === null ? [] : [this.answering];
  }

  open(unanswered: TrackedRun): void {
    this.unanswered = unanswered;
    if (this.answering !== null) return;
    this.answering = this.answerer.onWaiting().then((how) => {
      this.answering = null;
      return { left: how === 'left' ? this.unanswered : null };
    });
    // Its rejection is handled through `answers`, which is not read when tracking ends otherwise.
    this.answering.catch(() => undefined);
  }

  /** Closes it where another client has answered. This reads from the server, which may not answer. */
  async closeIfAnswered(ctx: Pick<Context, 'clock'>, mostMs: number): Promise<void> {
    if (this.answering !== null) await beforeTime(ctx, mostMs, [this.answerer.onHappened()]);
  }

  close(): void {
    this.answerer.close();
  }
}
