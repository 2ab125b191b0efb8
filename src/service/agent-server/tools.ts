/** Execution of the steps of an agent: each gives its observation event. */
import { randomUUID } from 'node:crypto';
import { IsolationError } from '../isolation/connection.ts';
import type { EditStep, TerminalStep } from '../agents/replay/steps.ts';
import type { Conversation } from './conversation.ts';
import { action, type NewEvent, newCallId, TOOL_NAMES, type ToolStep } from './events.ts';
import {
  type Cause,
  editorObservation,
  finishObservation,
  terminalObservation,
  thinkObservation,
} from './observations.ts';
import type { RunResult, Sandbox } from './sandbox.ts';

/** Of the output of a command as many characters are kept as genuine servers keep, half from each end. */
const KEPT_OUTPUT = 30_000;
/** The default timeout of a command. */
const COMMAND_TIMEOUT_SECONDS = 600;

export interface ToolContext {
  sandbox: Sandbox;
  conversationId: string;
  workingDir: string;
  /** By environment name; in the environment of every command. */
  secrets: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** Null: the signal interrupted it, and every process it started has ended. */
export async function carryOut(step: ToolStep, cause: Cause, context: ToolContext): Promise<NewEvent | null> {
  switch (step.type) {
    case 'terminal':
      return runCommand(step, cause, context);
    case 'edit':
      return edit(step, cause, context);
    case 'think':
      return thinkObservation(cause);
    case 'finish':
      return finishObservation(cause, step.message);
  }
}

async function runCommand(step: TerminalStep, cause: Cause, context: ToolContext): Promise<NewEvent | null> {
  const observe = (text: string, result: RunResult): NewEvent => terminalObservation(cause, step.command, text, result);
  if (step.is_input) return observe('No command is running that could read this input.', nothingRan(context));
  try {
    const result = await context.sandbox.run(
      {
        command: step.command,
        session: context.conversationId,
        reset: step.reset,
        cwd: null,
        startIn: context.workingDir,
        env: asEnvironment(context.secrets),
        merged: true,
        live: false,
        keepHead: KEPT_OUTPUT / 2,
        keepTail: KEPT_OUTPUT / 2,
      },
      { timeoutMs: (step.timeout_seconds ?? COMMAND_TIMEOUT_SECONDS) * 1000, signal: context.signal },
    );
    if (context.signal.aborted && result.killed) return null;
    const output = `${result.stdout}${result.exitCode === -1 ? result.stderr : ''}`.replace(/\r?\n$/, '');
    return observe(output, result);
  } catch (error) {
    if (context.signal.aborted) return null;
    if (!(error instanceof IsolationError)) throw error;
    const ended = `Everything in the sandbox was ended while the command ran (${error.message}).`;
    return observe(error.code === 'gone' ? ended : error.message, nothingRan(context));
  }
}

function nothingRan(context: ToolContext): RunResult {
  return {
    exitCode: -1,
    timedOut: false,
    killed: false,
    stdout: '',
    stderr: '',
    cwd: context.workingDir,
    pid: -1,
  };
}

async function edit(step: EditStep, cause: Cause, context: ToolContext): Promise<NewEvent | null> {
  const path = context.sandbox.rebase(step.path, context.workingDir);
  try {
    const { type: _type, thought: _thought, risk: _risk, ...parameters } = step;
    const result = await context.sandbox.ask('edit', { ...parameters, path, cwd: context.workingDir }, context.signal);
    return editorObservation(cause, step, result);
  } catch (error) {
    if (!(error instanceof IsolationError)) throw error;
    if (context.signal.aborted && error.code === 'gone') return null;
    const failed = { previouslyExisted: true, oldContent: null, newContent: null, isError: true };
    return editorObservation(cause, step, { ...failed, path, text: error.message });
  }
}

/** Names that are not valid in a shell are omitted. */
function asEnvironment(secrets: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)));
}

/**
 * Runs a command of the user beside the agent (V0's action `run`): writes the action, runs it in the background, and
 * writes the observation when it has ended. Both events have the source `user`.
 */
export function runForUser(conversation: Conversation, sandbox: Sandbox, command: string): void {
  const step = { type: 'terminal', command, is_input: false, reset: false, thought: '' } as const;
  const cause = { tool_name: TOOL_NAMES.terminal, tool_call_id: newCallId(), action_id: randomUUID() };
  const source = 'user';
  conversation.record([{ ...action(step, cause.tool_call_id), id: cause.action_id, source }]);
  const { id, secrets, state } = conversation;
  const signal = new AbortController().signal;
  carryOut(step, cause, { sandbox, conversationId: id, workingDir: state.working_dir, secrets, signal })
    .then((observation) => {
      if (observation !== null) conversation.record([{ ...observation, source }]);
    })
    // The conversation was deleted, the worker ends, or the disk is full: the command stays without an observation.
    .catch(() => undefined);
}
