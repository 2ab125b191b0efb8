/** The status of a V1 run. An unknown one is `unknown(<word>)`, which does not end a run. */
import { NO_STATUS, type ConversationStatus, type RunState, type SandboxStatus } from '../../domain/conversation.ts';
import { hasEnded } from '../../runs/status.ts';

const EXECUTION: Record<string, RunState> = {
  idle: { status: 'idle', waiting_for: 'user' },
  running: { status: 'running', waiting_for: null },
  paused: { status: 'paused', waiting_for: null },
  waiting_for_confirmation: { status: 'waiting', waiting_for: 'confirmation' },
  finished: { status: 'finished', waiting_for: null },
  error: { status: 'failed', waiting_for: null },
  stuck: { status: 'stuck', waiting_for: null },
};

/**
 * V1: from the last word of the run and the state of its sandbox. In a sandbox that does not run, a run that has ended
 * keeps its end, and in a paused one a pending confirmation still waits; any other run has the state of the sandbox.
 * @param lastWord from the record, else from the events; null: not known (interface 4.3)
 */
export function runStateV1(lastWord: string | null, sandbox: SandboxStatus | null): RunState {
  const state = lastWord === null ? null : stateOfWord(lastWord.toLowerCase());
  if (state !== null && (!isDown(sandbox) || outlivesSandbox(state, sandbox))) return state;
  return { status: statusWithoutWord(sandbox), waiting_for: null };
}

function stateOfWord(word: string): RunState {
  return EXECUTION[word] ?? { status: `unknown(${word})`, waiting_for: null };
}

function isDown(sandbox: SandboxStatus | null): boolean {
  return sandbox === 'paused' || sandbox === 'starting' || sandbox === 'missing' || sandbox === 'error';
}

function outlivesSandbox({ status }: RunState, sandbox: SandboxStatus | null): boolean {
  if (status === 'waiting') return sandbox === 'paused';
  return hasEnded(status);
}

function statusWithoutWord(sandbox: SandboxStatus | null): ConversationStatus {
  switch (sandbox) {
    case 'starting':
      return 'starting';
    case 'paused':
      return 'paused';
    case 'missing':
      return 'archived';
    case 'error':
      return 'failed';
    default:
      return NO_STATUS;
  }
}
