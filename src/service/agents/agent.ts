import type { ReplayStep, Step } from '../base/steps.ts';
import type { StoredEvent } from '../storage/conversation-state.ts';

export interface Situation {
  /** The number of steps that have ended: with an observation, a rejection or a message. */
  done: number;
  history: () => Iterable<StoredEvent>;
  /** Called for each part of an answer, and at its ends; null: no client receives parts. */
  onText: ((text: string, at?: 'beginning' | 'end') => void) | null;
}

/** Decides the next step; run-loop.ts handles confirmation, limits, pause and crash. */
export interface Agent {
  /** Reads the settings again; called before each step. */
  renew?(): void;
  next(situation: Situation, signal: AbortSignal): Promise<Step>;
}

export class ReplayAgent implements Agent {
  readonly #steps: ReplayStep[];

  constructor(steps: ReplayStep[]) {
    this.#steps = steps;
  }

  next({ done }: Situation): Promise<Step> {
    const detail =
      'The replay is at its end. Start a conversation with a replay or a model: acs ' +
      'settings set llm_model=<model>.';
    return Promise.resolve(
      this.#steps[done] ?? { type: 'break', status: 'error', code: 'NoModel', detail },
    );
  }
}
