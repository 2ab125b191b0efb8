/** The tools that the model is offered. */
import type { JSONSchema7 } from 'ai';
import { EDITOR_COMMANDS, TASK_STATUSES } from '../steps.ts';

/** `kind`: what the tool is called in the events of genuine servers. */
export interface ToolDefinition {
  name: string;
  kind: string;
  description: string;
  parameters: JSONSchema7;
}

const text = (description: string): JSONSchema7 => ({ type: 'string', description });
const object = (properties: Record<string, JSONSchema7>, required: string[]): JSONSchema7 => ({
  type: 'object',
  properties,
  required,
});
export const SECURITY_RISK: JSONSchema7 = {
  type: 'string',
  enum: ['LOW', 'MEDIUM', 'HIGH'],
  description:
    'LOW: reads, or changes files of the workspace. MEDIUM: changes more than that, and can be undone. ' +
    'HIGH: cannot be undone, sends data out of the sandbox, or runs code from an unknown source.',
};

export const BUILT_IN: readonly ToolDefinition[] = [
  {
    name: 'terminal',
    kind: 'Terminal',
    description:
      'Runs a bash command. Directory and environment variables are kept for the next command. The call returns when ' +
      'the command ends: start a program that does not end with `&` and its output in a file. Of a long output the ' +
      'beginning and the end are returned.',
    parameters: object(
      {
        command: text('The command, in one or more lines.'),
        timeout: { type: 'number', description: 'Seconds after which the command is ended. Default: 600.' },
        reset: { type: 'boolean', description: 'Start with the directory and environment of the first command.' },
        security_risk: SECURITY_RISK,
      },
      ['command', 'security_risk'],
    ),
  },
  {
    name: 'file_editor',
    kind: 'FileEditor',
    description:
      'Views and edits text files. `view` shows a file with line numbers, or the entries of a directory; `create` ' +
      'writes a whole file; `str_replace` replaces `old_str`, which must occur exactly once, with `new_str`; `insert` ' +
      'puts `new_str` after line `insert_line`; `undo_edit` takes the last edit of the file back.',
    parameters: object(
      {
        command: { type: 'string', enum: [...EDITOR_COMMANDS] },
        path: text('Absolute, or relative to the working directory.'),
        file_text: text('For `create`: the content.'),
        old_str: text('For `str_replace`: the text to replace, with its indentation.'),
        new_str: text('For `str_replace` and `insert`.'),
        insert_line: { type: 'integer', description: 'For `insert`; 0 is the top.' },
        view_range: {
          type: 'array',
          items: { type: 'integer' },
          description: 'For `view`: first and last line; -1: the end.',
        },
        security_risk: SECURITY_RISK,
      },
      ['command', 'path', 'security_risk'],
    ),
  },
  {
    name: 'task_tracker',
    kind: 'TaskTracker',
    description: 'Keeps a list of tasks for work of several parts: `plan` replaces the list, `view` shows it.',
    parameters: object(
      {
        command: { type: 'string', enum: ['view', 'plan'] },
        task_list: {
          type: 'array',
          items: object({ title: text(''), notes: text(''), status: { type: 'string', enum: [...TASK_STATUSES] } }, [
            'title',
            'status',
          ]),
        },
      },
      ['command'],
    ),
  },
  {
    name: 'think',
    kind: 'Think',
    description: 'Notes a thought. Changes nothing.',
    parameters: object({ thought: text('') }, ['thought']),
  },
  {
    name: 'finish',
    kind: 'Finish',
    description: 'Ends the work. Call it when the task is done, or cannot be done.',
    parameters: object({ message: text('What was done, for the user.') }, ['message']),
  },
];

/** The named ones, as `terminal` or `TerminalTool`, and those of every agent; null: all. */
export function offeredTools(named: readonly string[] | null): readonly ToolDefinition[] {
  const wanted = ['think', 'finish', ...(named ?? BUILT_IN.map(({ name }) => name))];
  return BUILT_IN.filter(({ name, kind }) => wanted.includes(name) || wanted.includes(`${kind}Tool`));
}
