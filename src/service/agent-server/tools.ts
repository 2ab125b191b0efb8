import type { Task, ToolStep } from '../base/steps.ts';
import type { Conversation } from './conversation.ts';
import { Editor } from './editor.ts';
import { actionEvent, type Cause, newCause, type NewEvent, textContent } from './events.ts';
import type { LazyMcpClient } from './mcp.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { Terminal } from './terminal.ts';

export class Tools {
  readonly mcp: LazyMcpClient;
  readonly terminal: Terminal;
  readonly #conversation: Conversation;
  readonly #editor: Editor;

  constructor(sandbox: Sandbox, conversation: Conversation, mcp: LazyMcpClient) {
    this.mcp = mcp;
    this.#conversation = conversation;
    this.#editor = new Editor(sandbox);
    this.terminal = new Terminal(sandbox, conversation);
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
    terminal: (step, signal) => this.terminal.execute(step, signal),
    edit: async (step, signal) => {
      const { working_dir } = this.#conversation.state;
      const { text, is_error, ...members } = await this.#editor.edit(step, working_dir, signal);
      const content = textContent(this.#conversation.masked(text));
      const { command } = step;
      return { content, is_error, command, ...members, kind: 'FileEditorObservation' };
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
