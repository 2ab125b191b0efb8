import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Task, ToolStep } from '../base/steps.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { Conversation } from './conversation.ts';
import { Editor, notEdited } from './editor.ts';
import { actionEvent, type Cause, newCause, type NewEvent, textContent } from './events.ts';
import type { LazyMcpClient } from './mcp.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { KEPT_OUTPUT, notRun, runShell, type ShellSession } from './shell.ts';

const COMMAND_TIMEOUT_SECONDS = 600;
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
    const { working_dir: cwd } = this.#conversation.state;
    return { id: randomUUID(), cwd, env: null, definitions: '' };
  }

  /** The observation of a step. Null: the signal has interrupted it and ended its processes. */
  async execute(
    step: ToolStep,
    { action_id, ...tool }: Cause,
    signal: AbortSignal,
  ): Promise<NewEvent | null> {
    const observation = await this.#tools
      [step.type](step as never, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
    if (observation === null) return null;
    // Without `extended_content`: openhands-sdk up to 1.31 rejects an observation that has it.
    return { source: 'environment', ...tool, observation, action_id, kind: 'ObservationEvent' };
  }

  readonly #tools: {
    [Type in ToolStep['type']]: (
      step: Extract<ToolStep, { type: Type }>,
      signal: AbortSignal,
    ) => Promise<Record<string, unknown> | null>;
  } = {
    terminal: async (step, signal) => {
      if (step.reset) this.#session = this.#newSession();
      const { environment: env, state } = this.#conversation;
      const command = {
        command: step.command,
        cwd: state.working_dir,
        env,
        merged: true,
        keepHead: KEPT_OUTPUT / 2,
        keepTail: KEPT_OUTPUT / 2,
        timeoutMs: (step.timeout_seconds ?? COMMAND_TIMEOUT_SECONDS) * 1000,
        signal,
      };
      const { exitCode, timedOut, pid, killed, stdout, stderr } = step.is_input
        ? notRun('No command is running that could read this input.')
        : await runShell(this.#sandbox, command, this.#session).catch((error: unknown) => {
            const { code, message } = refusal(error, signal);
            const ended = `Everything in the sandbox was ended while the command ran (${message}).`;
            return notRun(code === 'gone' ? ended : message);
          });
      if (killed && signal.aborted) return null;
      const suffix = timedOut
        ? '\n[The command ran longer than its time limit and was ended.]'
        : `\n[The command completed with exit code ${exitCode}.]`;
      const working_dir = this.#session.cwd;
      return {
        content: this.#content(`${stdout}${stderr}`.replace(/\r?\n$/, '')),
        is_error: false,
        command: step.command,
        exit_code: exitCode,
        timeout: timedOut,
        metadata: { exit_code: exitCode, pid, working_dir, prefix: '', suffix },
        kind: 'TerminalObservation',
      };
    },

    edit: async (step, signal) => {
      const { working_dir } = this.#conversation.state;
      const result = await this.#sandbox
        .folders()
        .then(({ home }) => {
          // A shell reads `~` as the home.
          const named = step.path.replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
          const file = path.resolve(working_dir, rebase(named, working_dir));
          return this.#editor.edit(step, file, signal);
        })
        .catch((error: unknown) => notEdited(step.path, refusal(error, signal).message));
      return {
        content: this.#content(result.text),
        is_error: result.isError,
        command: step.command,
        path: result.path,
        prev_exist: result.previouslyExisted,
        ...(result.oldContent !== null && { old_content: result.oldContent }),
        ...(result.newContent !== null && { new_content: result.newContent }),
        kind: 'FileEditorObservation',
      };
    },

    task_tracker: async ({ command, task_list: planned }) => {
      const isPlan = command === 'plan';
      const task_list = isPlan ? planned : plannedTasks(this.#conversation);
      const lines = task_list.map(({ title, notes, status }) =>
        [`- [${status}] ${title}`, ...(notes ? [notes] : [])].join(': '),
      );
      const list = lines.join('\n') || 'There are no tasks. Use "plan" to make a list.';
      const content = textContent(isPlan ? `The list has ${lines.length} tasks now.` : list);
      return { is_error: false, command, kind: 'TaskTrackerObservation', content, task_list };
    },

    mcp: (step, signal) => this.mcp.observe(step, signal),
    think: async () => ({
      content: textContent('Your thought has been logged.'),
      is_error: false,
      kind: 'ThinkObservation',
    }),
    finish: async ({ message }) => ({
      content: textContent(message),
      is_error: false,
      kind: 'FinishObservation',
    }),
  };

  #content(text: string) {
    return textContent(this.#conversation.masked(text));
  }

  /** V0's action `run`, beside the agent: both events have the source `user`. */
  runForUser(command: string): void {
    const step = { type: 'terminal', command, is_input: false, reset: false, thought: '' } as const;
    const cause = newCause(step);
    this.#conversation.record([{ ...actionEvent(step, cause), source: 'user' }]);
    this.execute(step, cause, new AbortController().signal)
      .then((observation) => {
        if (observation !== null) this.#conversation.record([{ ...observation, source: 'user' }]);
      })
      // The conversation was deleted, the worker ends, or the disk is full.
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

/** The refusal of the isolation; an interruption, and any other error, is thrown. */
function refusal(error: unknown, signal: AbortSignal): IsolationError {
  if (signal.aborted || !(error instanceof IsolationError)) throw error;
  return error;
}

/** The path in this workspace for a path of a recorded trajectory. */
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
