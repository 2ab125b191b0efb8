/** Events of the V0 dialect: `{id, source, action, args, …}` or `{observation, …}`. */
import {
  type JsonRecord,
  optionalNumber,
  optionalRange,
  optionalText,
  type Reading,
  recordMember,
  ReplayError,
  text,
} from './reading.ts';
import { shellQuote } from '../../../text/shell-quote.ts';
import type { EditorCommand, EditStep } from './steps.ts';

const SKIPPED: Reading = { type: 'skipped' };
/** Actions that change nothing in the workspace. */
const WITHOUT_EFFECT = new Set([
  'think',
  'system',
  'recall',
  'change_agent_state',
  'null',
  'condensation',
  'start',
  '',
]);
const EDITOR_COMMANDS = new Set(['view', 'create', 'str_replace', 'insert', 'undo_edit']);

export function readV0(event: JsonRecord, where: string): Reading {
  if (!('action' in event)) return SKIPPED;
  const action = text(event, 'action', where);
  if (WITHOUT_EFFECT.has(action)) return SKIPPED;
  if (event['source'] === 'user' && action !== 'message') return SKIPPED;
  const args = recordMember(event, 'args', where);
  const place = `${where} (${action})`;
  const thought = optionalText(args, 'thought', place) ?? '';
  switch (action) {
    case 'run':
      return step(runStep(args, thought, place));
    case 'write':
      return step({
        type: 'edit',
        command: 'create',
        path: text(args, 'path', place),
        file_text: text(args, 'content', place),
        thought,
      });
    case 'read':
      return step({ type: 'edit', command: 'view', path: text(args, 'path', place), ...lines(args, place), thought });
    case 'edit':
      return step(editStep(args, thought, place));
    case 'message':
      return message(event, args, place);
    case 'finish': {
      const said = optionalText(args, 'final_thought', place) || optionalText(args, 'message', place) || thought;
      return step({ type: 'finish', message: said || 'Finished.', thought: '' });
    }
    default:
      throw new ReplayError(
        `${where}: the action "${action}" cannot be replayed; allowed are run, write, read, edit, message and finish`,
      );
  }
}

function step(value: Extract<Reading, { type: 'step' }>['step']): Reading {
  return { type: 'step', step: value };
}

function runStep(args: JsonRecord, thought: string, place: string): Extract<Reading, { type: 'step' }>['step'] {
  const command = text(args, 'command', place);
  const cwd = optionalText(args, 'cwd', place);
  return {
    type: 'terminal',
    command: cwd === undefined || cwd === '' ? command : `cd ${shellQuote(cwd)} && ${command}`,
    is_input: args['is_input'] === true,
    reset: false,
    timeout_seconds: optionalNumber(args, 'timeout', place) ?? optionalNumber(args, 'hard_timeout', place),
    thought,
  };
}

/** `start` and `end` count from 0 and 1; the whole file is 0 and -1. */
function lines(args: JsonRecord, place: string): Pick<EditStep, 'view_range'> {
  const range = optionalRange(args, 'view_range', place);
  if (range !== undefined) return { view_range: range };
  const start = optionalNumber(args, 'start', place) ?? 0;
  const end = typeof args['end'] === 'number' ? args['end'] : -1;
  return start === 0 && end === -1 ? {} : { view_range: [start + 1, end] };
}

/** The editor form has `command`; the older form has `content`, written over the lines `start` to `end`. */
function editStep(args: JsonRecord, thought: string, place: string): EditStep {
  const path = text(args, 'path', place);
  const command = optionalText(args, 'command', place);
  if (command === undefined || command === '') {
    const whole = (args['start'] ?? 1) === 1 && (args['end'] ?? -1) === -1;
    if (!whole) throw new ReplayError(`${place}: an edit of a range of lines cannot be replayed; "command" is missing`);
    return { type: 'edit', command: 'create', path, file_text: text(args, 'content', place), thought };
  }
  if (!EDITOR_COMMANDS.has(command))
    throw new ReplayError(`${place}: unknown "command": ${command}; allowed are ${[...EDITOR_COMMANDS].join(', ')}`);
  return editorStep(command as EditorCommand, path, args, thought, place);
}

/** The parameters of the editor tool, each checked where its command needs it. */
export function editorStep(
  command: EditorCommand,
  path: string,
  args: JsonRecord,
  thought: string,
  place: string,
): EditStep {
  const base = { type: 'edit' as const, command, path, thought };
  switch (command) {
    case 'create':
      return { ...base, file_text: text(args, 'file_text', place) };
    case 'str_replace':
      return { ...base, old_str: text(args, 'old_str', place), new_str: optionalText(args, 'new_str', place) ?? '' };
    case 'insert': {
      const at = optionalNumber(args, 'insert_line', place);
      if (at === undefined) throw new ReplayError(`${place}: "insert_line" must be a number and is missing`);
      return { ...base, insert_line: at, new_str: text(args, 'new_str', place) };
    }
    case 'view':
      return { ...base, ...lines(args, place) };
    case 'undo_edit':
      return base;
  }
}

function message(event: JsonRecord, args: JsonRecord, place: string): Reading {
  const content = text(args, 'content', place);
  if (event['source'] === 'user') return { type: 'user', text: content };
  return step({ type: 'message', text: content, ends_turn: args['wait_for_response'] === true });
}
