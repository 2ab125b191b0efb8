export interface BuiltInTool {
  name: 'terminal' | 'file_editor' | 'task_tracker' | 'think' | 'finish';
  kind: string;
  description: string;
}

export const BUILT_IN: readonly BuiltInTool[] = [
  {
    name: 'terminal',
    kind: 'Terminal',
    description:
      'Runs a command in a shell that keeps its directory and variables from one call to ' +
      'the next. Returns when the command ends, or prints nothing for 30 s without a `timeout`: ' +
      'start a program that does not end with `&` and its output in a file. A later call has ' +
      'no jobs (`%1`): keep its `$!` in a variable. Of a long output the beginning and the end ' +
      'are returned.',
  },
  {
    name: 'file_editor',
    kind: 'FileEditor',
    description:
      'Views and edits text files. `view` shows a file with line numbers, or the entries of ' +
      'a directory; `create` writes a whole file; `str_replace` replaces `old_str`, which ' +
      'must occur exactly once, with `new_str`; `insert` puts `new_str` after line ' +
      '`insert_line`; `undo_edit` takes the last edit of the file back.',
  },
  {
    name: 'task_tracker',
    kind: 'TaskTracker',
    description:
      'Keeps a list of tasks for work of several parts: `plan` replaces the list, `view` shows it.',
  },
  { name: 'think', kind: 'Think', description: 'Notes a thought. Changes nothing.' },
  {
    name: 'finish',
    kind: 'Finish',
    description: 'Ends the work. Call it when the task is done, or cannot be done.',
  },
];

/** The named ones, as `terminal` or `TerminalTool`, and those of every agent; null: all. */
export function offeredTools(named: readonly string[] | null): readonly BuiltInTool[] {
  const wanted = ['think', 'finish', ...(named ?? BUILT_IN.map(({ name }) => name))];
  return BUILT_IN.filter(
    ({ name, kind }) => wanted.includes(name) || wanted.includes(`${kind}Tool`),
  );
}
