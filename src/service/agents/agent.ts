/** The agent decides the next step; run-loop.ts handles confirmation, limits, pause and crash. */
import type { ReplayStep } from './replay/steps.ts';
import type { StoredEvent } from '../storage/conversation-state.ts';

export interface Agent {
  /** The same step while none is done. `done`: the steps that are observed, rejected or a message. */
  next(situation: { done: number; history: () => Iterable<StoredEvent> }, signal: AbortSignal): Promise<ReplayStep>;
}

export class ReplayAgent implements Agent {
  readonly #steps: ReplayStep[] | null;

  constructor(steps: ReplayStep[] | null) {
    this.#steps = steps;
  }

  next({ done }: { done: number }): Promise<ReplayStep> {
    const why = this.#steps === null ? 'This conversation has no replay' : 'The replay is at its end';
    const detail = `${why}, and the local service runs no agent with a model. Start a conversation with a replay, or use another server.`;
    return Promise.resolve(this.#steps?.[done] ?? { type: 'break', status: 'error', code: 'NoModel', detail });
  }
}
