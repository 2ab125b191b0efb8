/**
 * The agent of a conversation decides the next step. Confirmation, limits, pause and crash are handled by run-loop.ts.
 */
import type { ReplayStep } from './replay/steps.ts';
import type { StoredEvent } from '../storage/conversation-state.ts';

/** The decision of an agent. `unable`: it cannot continue, with the reason; the run ends in error. */
export type AgentDecision = { type: 'step'; step: ReplayStep } | { type: 'unable'; code: string; detail: string };

/** The input of a decision. */
export interface Situation {
  /** How many steps of this conversation are done (observed, rejected or a message). */
  done: number;
  /** Reads the events so far. */
  history: () => Iterable<StoredEvent>;
}

export interface Agent {
  /** Ends early when the signal aborts. */
  next(situation: Situation, signal: AbortSignal): Promise<AgentDecision>;
}

/** Plays the steps of a trajectory, one after the other. */
export class ReplayAgent implements Agent {
  readonly #steps: ReplayStep[];

  constructor(steps: ReplayStep[]) {
    this.#steps = steps;
  }

  next(situation: Situation): Promise<AgentDecision> {
    const step = this.#steps[situation.done];
    return Promise.resolve(step === undefined ? unable('The replay is at its end') : { type: 'step', step });
  }
}

/** The agent of a conversation without a replay. */
export class AbsentAgent implements Agent {
  next(): Promise<AgentDecision> {
    return Promise.resolve(unable('This conversation has no replay'));
  }
}

function unable(why: string): AgentDecision {
  return {
    type: 'unable',
    code: 'NoModel',
    detail:
      `${why}, and the local service runs no agent with a model, so the run ends. ` +
      'Start a conversation with a replay, or use another server.',
  };
}
