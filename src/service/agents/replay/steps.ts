/** The steps of a replay: what is left of a recorded trajectory, V0 or V1, once it is to be carried out again. */

export type EditorCommand = 'view' | 'create' | 'str_replace' | 'insert' | 'undo_edit';

/** How dangerous the recorded agent judged an action. */
export type Risk = 'UNKNOWN' | 'LOW' | 'MEDIUM' | 'HIGH';

/** A change or a look at a file, as the file editor tool takes it. Relative paths count from the working directory. */
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

/** Words of the agent. `ends_turn`: the user speaks next, so the run finishes here. */
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

/** The end of a run that did not come through: an error with its code and words, or an agent that went in circles. */
export interface BreakStep {
  type: 'break';
  status: 'error' | 'stuck';
  code: string;
  detail: string;
}

export type ReplayStep = TerminalStep | EditStep | MessageStep | ThinkStep | FinishStep | BreakStep;

/** What a trajectory holds: the steps of the agent, and the first words of the user, which are not replayed. */
export interface Trajectory {
  steps: ReplayStep[];
  user_message: string | null;
}
