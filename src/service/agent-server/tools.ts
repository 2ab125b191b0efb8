import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { EditStep, Task, TaskTrackerStep, TerminalStep, ToolStep } from '../base/steps.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { Conversation } from './conversation.ts';
import { Editor } from './editor.ts';
import { actionEvent, type Cause, newCause, type NewEvent, textContent } from './events.ts';
import type { LazyMcpClient } from './mcp.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { KEPT_OUTPUT, runShell, type ShellResult, type ShellSession } from './shell.ts';

const COMMAND_TIMEOUT_SECONDS = 600;
/** Where recorded trajectories of genuine servers have their workspace. */
const RECORDED_ROOTS = ['/workspace/project', '/workspace'];

export class Tools {
  readonly mcp: LazyMcpClient;
  readonly #sandbox: Sandbox;
  readonly #conversation: Conversation;
  readonly #editor: Editor;
  #session: ShellSession;

  constructor(sandbox: Sandbox, conversation: Conversation, mcp: LazyMcpClient) {
    this.#sandbox = sandbox;
    this.mcp = mcp;
    this.#conversation = conversation;
    this.#editor = new Editor(sandbox);
    this.#session = this.#newSession();
  }

  #newSession(): ShellSession {
    return {
      id: randomUUID(),
      cwd: this.#conversation.state.working_dir,
      env: null,
      definitions: '',
    };
  }

  /**
   * The observation of a step. Null: the signal interrupted it, and every process it started has
   * ended.
   */
  async execute(
    step: ToolStep,
    { action_id, ...tool }: Cause,
    signal?: AbortSignal,
  ): Promise<NewEvent | null> {
    let observation: Record<string, unknown> | null;
    if (step.type === 'terminal') observation = await this.#runCommand(step, signal);
    else if (step.type === 'edit') observation = await this.#edit(step, signal);
    else if (step.type === 'task_tracker') observation = this.#trackTasks(step);
    else if (step.type === 'mcp') observation = await this.mcp.observe(step, signal);
    else {
      const isThought = step.type === 'think';
      const content = textContent(isThought ? 'Your thought has been logged.' : step.message);
      observation = {
        content,
        is_error: false,
        kind: isThought ? 'ThinkObservation' : 'FinishObservation',
      };
    }
    // Without `extended_content`: openhands-sdk up to 1.31 rejects an observation that has it.
    return (
      observation && {
        source: 'environment',
        ...tool,
        observation,
        action_id,
        kind: 'ObservationEvent',
      }
    );
  }

  async #runCommand(
    step: TerminalStep,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown> | null> {
    let result: ShellResult = {
      exitCode: -1,
      timedOut: false,
      killed: false,
      stdout: '',
      stderr: '',
      pid: -1,
    };
    if (step.is_input) result.stderr = 'No command is running that could read this input.';
    else {
      if (step.reset) this.#session = this.#newSession();
      const { environment, state } = this.#conversation;
      const command = {
        command: step.command,
        cwd: state.working_dir,
        env: environment,
        merged: true,
        keepHead: KEPT_OUTPUT / 2,
        keepTail: KEPT_OUTPUT / 2,
        timeoutMs: (step.timeout_seconds ?? COMMAND_TIMEOUT_SECONDS) * 1000,
        signal,
      };
      try {
        result = await runShell(this.#sandbox, command, this.#session);
        if (signal?.aborted && result.killed) return null;
      } catch (error) {
        if (signal?.aborted) return null;
        if (!(error instanceof IsolationError)) throw error;
        const ended =
          `Everything in the sandbox was ended while the command ran ` + `(${error.message}).`;
        result.stderr = error.code === 'gone' ? ended : error.message;
      }
    }
    const { exitCode, timedOut, pid } = result;
    return {
      content: textContent(
        this.#conversation.masked(`${result.stdout}${result.stderr}`.replace(/\r?\n$/, '')),
      ),
      is_error: false,
      command: step.command,
      exit_code: exitCode,
      timeout: timedOut,
      metadata: {
        exit_code: exitCode,
        pid,
        working_dir: this.#session.cwd,
        prefix: '',
        suffix: timedOut
          ? '\n[The command ran longer than its time limit and was ended.]'
          : `\n[The command completed with exit code ${String(exitCode)}.]`,
      },
      kind: 'TerminalObservation',
    };
  }

  #trackTasks({ command, task_list: planned }: TaskTrackerStep): Record<string, unknown> {
    const members = { is_error: false, command, kind: 'TaskTrackerObservation' };
    if (command === 'plan') {
      const text = `The list has ${String(planned.length)} tasks now.`;
      return { ...members, content: textContent(text), task_list: planned };
    }
    const tasks = plannedTasks(this.#conversation);
    const lines = tasks.map(
      ({ title, notes, status }) => `- [${status}] ${title}${notes === '' ? '' : `: ${notes}`}`,
    );
    const text =
      tasks.length === 0 ? 'There are no tasks. Use "plan" to make a list.' : lines.join('\n');
    return { ...members, content: textContent(text), task_list: tasks };
  }

  async #edit(step: EditStep, signal?: AbortSignal): Promise<Record<string, unknown> | null> {
    const { working_dir } = this.#conversation.state;
    const perform = async () => {
      const { home } = await this.#sandbox.folders();
      // As a shell reads it; a relative path would be a folder named `~`.
      const named = step.path.replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
      return this.#editor.edit(step, path.resolve(working_dir, rebase(named, working_dir)), signal);
    };
    const result = await perform().catch((error: unknown) => {
      if (!(error instanceof IsolationError)) throw error;
      if (signal?.aborted) return null;
      const nothing = {
        path: step.path,
        previouslyExisted: true,
        oldContent: null,
        newContent: null,
      };
      return { ...nothing, text: error.message, isError: true };
    });
    if (result === null) return null;
    return {
      content: textContent(this.#conversation.masked(result.text)),
      is_error: result.isError,
      command: step.command,
      path: result.path,
      prev_exist: result.previouslyExisted,
      ...(result.oldContent === null ? {} : { old_content: result.oldContent }),
      ...(result.newContent === null ? {} : { new_content: result.newContent }),
      kind: 'FileEditorObservation',
    };
  }

  /** V0's action `run`, beside the agent: both events have the source `user`. */
  runForUser(command: string): void {
    const step = { type: 'terminal', command, is_input: false, reset: false, thought: '' } as const;
    const cause = newCause(step);
    this.#conversation.record([{ ...actionEvent(step, cause), source: 'user' }]);
    this.execute(step, cause)
      .then((observation) => {
        if (observation !== null) this.#conversation.record([{ ...observation, source: 'user' }]);
      })
      // The conversation was deleted, the worker ends, or the disk is full: the command stays
      // without an observation.
      .catch(() => undefined);
  }
}

function plannedTasks(conversation: Conversation): Task[] {
  let tasks: Task[] = [];
  for (const event of conversation.history()) {
    const observation = event['observation'] as { kind: string; task_list: Task[] } | undefined;
    if (observation?.kind === 'TaskTrackerObservation') tasks = observation.task_list;
  }
  return tasks;
}

/**
 * The path in this workspace for a path of a recorded trajectory, relative to the working
 * directory.
 */
function rebase(recorded: string, workingDir: string): string {
  if (!path.isAbsolute(recorded) || isWithin(recorded, workingDir)) return recorded;
  const root = RECORDED_ROOTS.find((folder) => isWithin(recorded, folder));
  if (root === undefined) return recorded;
  const rest = path.relative(root, recorded);
  const name = path.basename(workingDir);
  return path.join(workingDir, isWithin(rest, name) ? rest.slice(name.length) : rest);
}

function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`);
}
