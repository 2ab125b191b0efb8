/** The events that answer an action: what a tool observed, a rejection, an error. Built as those of events.ts. */
import type { EditResult } from '../isolation/protocol.ts';
import type { EditStep } from '../agents/replay/steps.ts';
import { type NewEvent, textContent } from './events.ts';
import type { RunResult } from './sandbox.ts';

/** Ties an observation to its action. */
export interface Cause {
  tool_name: string;
  tool_call_id: string;
  action_id: string;
}

/**
 * Without `extended_content`, which is always empty here: openhands-sdk up to 1.31 rejects an observation that has it.
 */
function observed(cause: Cause, observation: Record<string, unknown>): NewEvent {
  const { action_id, ...tool } = cause;
  return { source: 'environment', ...tool, observation, action_id, kind: 'ObservationEvent' };
}

/** The result of a command. `output` is limited already. */
export function terminalObservation(cause: Cause, command: string, output: string, result: RunResult): NewEvent {
  const { exitCode, timedOut } = result;
  return observed(cause, {
    content: textContent(output),
    is_error: false,
    command,
    exit_code: exitCode,
    timeout: timedOut,
    metadata: {
      exit_code: exitCode,
      pid: result.pid,
      working_dir: result.cwd,
      prefix: '',
      suffix: timedOut
        ? '\n[The command ran longer than it may and was ended.]'
        : `\n[The command completed with exit code ${String(exitCode)}.]`,
    },
    kind: 'TerminalObservation',
  });
}

/** The result of the file editor. */
export function editorObservation(cause: Cause, step: EditStep, result: EditResult): NewEvent {
  return observed(cause, {
    content: textContent(result.text),
    is_error: result.isError,
    command: step.command,
    path: result.path,
    prev_exist: result.previouslyExisted,
    ...(result.oldContent === null ? {} : { old_content: result.oldContent }),
    ...(result.newContent === null ? {} : { new_content: result.newContent }),
    kind: 'FileEditorObservation',
  });
}

export function finishObservation(cause: Cause, message: string): NewEvent {
  return observed(cause, { content: textContent(message), is_error: false, kind: 'FinishObservation' });
}

export function thinkObservation(cause: Cause): NewEvent {
  return observed(cause, {
    content: textContent('Your thought has been logged.'),
    is_error: false,
    kind: 'ThinkObservation',
  });
}

export function rejection(cause: Cause, reason: string): NewEvent {
  const { action_id, ...tool } = cause;
  return {
    source: 'environment',
    ...tool,
    rejection_reason: reason,
    rejection_source: 'user',
    action_id,
    kind: 'UserRejectObservation',
  };
}

/** An action that was interrupted. */
export function agentError(cause: Cause, error: string): NewEvent {
  return {
    source: 'agent',
    tool_name: cause.tool_name,
    tool_call_id: cause.tool_call_id,
    error,
    kind: 'AgentErrorEvent',
  };
}
