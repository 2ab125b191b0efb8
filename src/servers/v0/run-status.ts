/** The status of a V0 run. An unknown one is `unknown(<word>)`, which does not end a run. */
import type { ConversationStatus, Reason, RunState } from '../../domain/conversation.ts';
import { hasEnded } from '../../runs/status.ts';

export interface RunFactsV0 {
  /** STARTING, RUNNING, STOPPED, ARCHIVED, ERROR. */
  status: string;
  /** Newest `agent_state`; null where it was not read. */
  agentState: string | null;
  /** Whether the agent has sent a message since the latest user message. */
  answered: 'yes' | 'no' | 'unknown';
}

const AGENT_STATES: Record<string, RunState> = {
  loading: { status: 'starting', waiting_for: null },
  init: { status: 'starting', waiting_for: null },
  running: { status: 'running', waiting_for: null },
  user_confirmed: { status: 'running', waiting_for: null },
  rate_limited: { status: 'running', waiting_for: null },
  user_rejected: { status: 'idle', waiting_for: 'user' },
  awaiting_user_confirmation: { status: 'waiting', waiting_for: 'confirmation' },
  paused: { status: 'paused', waiting_for: null },
  stopped: { status: 'stopped', waiting_for: null },
  finished: { status: 'finished', waiting_for: null },
  rejected: { status: 'failed', waiting_for: null },
  error: { status: 'failed', waiting_for: null },
};

/** V0: from the record and the newest agent state; failures show in the latter only (interface 3.4). */
export function runStateV0(facts: RunFactsV0): RunState {
  const ended = facts.agentState === null ? null : agentRunState(facts.agentState.toLowerCase(), facts.answered);
  switch (facts.status.toUpperCase()) {
    case 'STARTING':
      return { status: 'starting', waiting_for: null };
    case 'RUNNING':
      return ended ?? { status: 'running', waiting_for: null };
    case 'STOPPED':
      return isEnd(ended) ? ended : { status: 'stopped', waiting_for: null };
    case 'ARCHIVED':
      return isEnd(ended) ? ended : { status: 'archived', waiting_for: null };
    case 'ERROR':
      return { status: 'failed', waiting_for: null };
    default:
      return { status: `unknown(${facts.status.toLowerCase()})`, waiting_for: null };
  }
}

function isEnd(state: RunState | null): state is RunState {
  return state !== null && hasEnded(state.status);
}

/** A V0 agent that answers in text ends in awaiting_user_input: finished, if it has answered. */
function agentRunState(word: string, answered: RunFactsV0['answered']): RunState {
  if (word === 'awaiting_user_input') {
    return answered === 'yes' ? { status: 'finished', waiting_for: 'user' } : { status: 'idle', waiting_for: 'user' };
  }
  return AGENT_STATES[word] ?? { status: `unknown(${word})`, waiting_for: null };
}

const RATE_LIMITED: Reason = {
  code: 'rate-limited',
  text: 'the model limits its rate; the agent may not continue by itself; a message makes it try again',
};

/**
 * V0: why the run failed, or why it does not proceed although its status is running.
 * @param text what the server gives as the reason
 */
export function reasonOfStateV0(status: ConversationStatus, agentState: string | null, text: string): Reason | null {
  if (status === 'failed') return reasonV0(text);
  return status === 'running' && agentState?.toLowerCase() === 'rate_limited' ? RATE_LIMITED : null;
}

/** `STATUS$ERROR_LLM_AUTHENTICATION` → code `ERROR_LLM_AUTHENTICATION`; free text has the code `error`. */
export function reasonV0(text: string): Reason | null {
  if (text === '') return null;
  const match = /^STATUS\$(\w+)$/.exec(text);
  if (match?.[1] === undefined) return { code: 'error', text };
  return { code: match[1], text: match[1].toLowerCase().replaceAll('_', ' ') };
}
