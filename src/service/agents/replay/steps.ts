/** The steps of a replay: the parts of a recorded trajectory, V0 or V1, that are executed again. */

export type EditorCommand = 'view' | 'create' | 'str_replace' | 'insert' | 'undo_edit';

/** How dangerous the recorded agent judged an action. */
export type Risk = 'UNKNOWN' | 'LOW' | 'MEDIUM' | 'HIGH';

/** A command of the file editor tool. Relative paths are resolved from the working directory. */
export interface EditStep {
  type: 'edit';
  command: EditorCommand;
  path: string;
  file_text?: string;
  old_str?: string;
  new_str?: string;
  /** The text goes after this line; 0 is the top. */
  insert_line?: number;
  /** First and last line, from 1; -1 is the end. */
  view_range?: [number, number];
  thought: string;
  risk?: Risk;
}

/** A shell command. `timeout_seconds`: it is ended after that long. */
export interface TerminalStep {
  type: 'terminal';
  command: string;
  is_input: boolean;
  reset: boolean;
  timeout_seconds?: number;
  thought: string;
  risk?: Risk;
}

/** A message of the agent. `ends_turn`: a user message is next, so the run finishes here. */
export interface MessageStep {
  type: 'message';
  text: string;
  ends_turn: boolean;
}

export interface ThinkStep {
  type: 'think';
  thought: string;
}

export interface FinishStep {
  type: 'finish';
  message: string;
  thought: string;
}

/** The end of a failed run: an error with its code and text, or an agent that is stuck in a loop. */
export interface BreakStep {
  type: 'break';
  status: 'error' | 'stuck';
  code: string;
  detail: string;
}

export type ReplayStep = TerminalStep | EditStep | MessageStep | ThinkStep | FinishStep | BreakStep;

/** A parsed trajectory: the steps of the agent, and the first message of the user, which is not replayed. */
export interface Trajectory {
  steps: ReplayStep[];
  user_message: string | null;
}
