/** V0 or V1 events, as served or as acs prints them: a JSON array, its object, or JSON lines. */
import { shellQuote } from '../../../base/text/shell-quote.ts';
import { shortened } from '../../../base/text/well-formed.ts';
import { isTooDeep } from '../../../protocol/detail.ts';
import { isRecord, type Json } from '../../../protocol/shape.ts';
import {
  EDITOR_COMMANDS,
  type EditStep,
  ReplayError,
  type ReplayStep,
  RISKS,
} from '../../base/steps.ts';

const LONGEST_NAME = 100;
const LISTS = ['trajectory', 'history', 'events', 'items'];

type Reading = ReplayStep | { type: 'user'; text: string };

/** Throws ReplayError, which names the event; also when no action can be replayed. */
export function parseTrajectory(text: string): {
  steps: ReplayStep[];
  user_message: string | null;
} {
  const document = parseDocument(text);
  if (isTooDeep(document)) throw new ReplayError('the trajectory is nested too deeply');
  const members = isRecord(document) ? LISTS.map((name) => document[name]) : [];
  const list = [document, ...members].find((value) => Array.isArray(value));
  if (list === undefined) {
    throw new ReplayError(
      `a trajectory is an array of events, or an object with one as ${LISTS.join(', ')}`,
    );
  }
  const readings = list
    .flatMap(servedForm)
    .flatMap((event, index) => readEvent(event, `event ${index + 1}`));
  const steps = readings.flatMap((reading, index): ReplayStep[] => {
    if (reading.type !== 'message') return reading.type === 'user' ? [] : [reading];
    const isLast = (readings[index + 1]?.type ?? 'user') === 'user';
    return [{ ...reading, ends_turn: reading.ends_turn || isLast }];
  });
  if (steps.length === 0) throw new ReplayError('the trajectory contains no agent action');
  const [first] = readings;
  return { steps, user_message: first?.type === 'user' ? first.text : null };
}

function parseDocument(text: string): unknown {
  const clean = text.replace(/^\uFEFF/, '').trim();
  if (clean === '') throw new ReplayError('the file is empty');
  const read = (json: string, where: string): unknown => {
    try {
      return JSON.parse(json) as unknown;
    } catch (error) {
      throw new ReplayError(`${where}not JSON: ${(error as Error).message}`);
    }
  };
  const lines = clean.split('\n');
  try {
    JSON.parse(lines[0] ?? '');
  } catch {
    return read(clean, '');
  }
  if (lines.length === 1) return read(clean, '');
  return lines.flatMap((line, index) =>
    line.trim() === '' ? [] : [read(line, `line ${index + 1}: `)],
  );
}

/** acs prints an event with its served form as `payload`, between the start and the outcome. */
function servedForm(entry: unknown): unknown[] {
  if (!isRecord(entry)) return [entry];
  if (entry['type'] === 'event' && isRecord(entry['payload'])) return [entry['payload']];
  return entry['type'] === 'started' || entry['type'] === 'outcome' ? [] : [entry];
}

class Members {
  readonly json: Json;
  readonly at: string;

  constructor(json: Json, at: string) {
    this.json = json;
    this.at = at;
  }

  text(name: string): string {
    const value = this.json[name];
    return typeof value === 'string' ? value : this.#refuse(name, 'a string');
  }

  optionalText(name: string): string {
    return this.json[name] == null ? '' : this.text(name);
  }

  number(name: string): number {
    const value = this.json[name];
    const isValid = typeof value === 'number' && Number.isFinite(value) && value >= 0;
    return isValid ? value : this.#refuse(name, 'a number that is not negative');
  }

  optionalNumber(name: string): number | undefined {
    return this.json[name] == null ? undefined : this.number(name);
  }

  record(name: string, at: string): Members {
    const value = this.json[name];
    return isRecord(value) ? new Members(value, at) : this.#refuse(name, 'an object');
  }

  #refuse(name: string, expected: string): never {
    const missing = this.json[name] === undefined ? ' and is missing' : '';
    throw new ReplayError(`${this.at}: "${name}" must be ${expected}${missing}`);
  }
}

type ReadAction = (action: Members, thought: string) => ReplayStep;

function readEvent(event: unknown, where: string): Reading[] {
  if (!isRecord(event)) throw new ReplayError(`${where}: an object is expected`);
  const members = new Members(event, where);
  const { kind } = event;
  if (typeof kind === 'string') {
    const read = V1_EVENTS.get(kind);
    if (read !== undefined) return read(members);
    return kind.endsWith('Action') ? readAction(members, '') : [];
  }
  if ('action' in event) return readV0(members);
  if ('observation' in event) return [];
  throw new ReplayError(
    `${where}: neither "kind" (V1) nor "action" or "observation" (V0) is there`,
  );
}

const V0_WITHOUT_EFFECT = [
  'think',
  'system',
  'recall',
  'change_agent_state',
  'null',
  'condensation',
  'start',
  '',
];

const V0_ACTIONS = new Map<string, ReadAction>([
  [
    'run',
    (args, thought) => {
      const cwd = args.optionalText('cwd');
      return {
        ...terminalStep(args, thought),
        command: `${cwd === '' ? '' : `cd ${shellQuote(cwd)} && `}${args.text('command')}`,
        reset: false,
        timeout_seconds: args.optionalNumber('timeout') ?? args.optionalNumber('hard_timeout'),
      };
    },
  ],
  ['write', writeStep],
  ['read', (args, thought) => editStep('view', args, thought)],
  [
    'edit',
    (args, thought) => {
      // The older form has no command, and `content`, written over the lines `start` to `end`.
      const command = args.optionalText('command');
      if (command !== '') return editStep(command, args, thought);
      const { start, end } = args.json;
      if ((start ?? 1) === 1 && (end ?? -1) === -1) return writeStep(args, thought);
      throw new ReplayError(
        `${args.at}: an edit of a range of lines cannot be replayed; "command" is missing`,
      );
    },
  ],
  [
    'message',
    (args) => ({
      type: 'message',
      text: args.text('content'),
      ends_turn: args.json['wait_for_response'] === true,
    }),
  ],
  [
    'finish',
    (args, thought) => {
      const message = args.optionalText('final_thought') || args.optionalText('message');
      return { type: 'finish', message: message || thought || 'Finished.', thought: '' };
    },
  ],
]);

function readV0(event: Members): Reading[] {
  const action = event.text('action');
  const isUsers = event.json['source'] === 'user';
  if (V0_WITHOUT_EFFECT.includes(action) || (isUsers && action !== 'message')) return [];
  const args = event.record('args', `${event.at} (${action})`);
  if (isUsers) return [{ type: 'user', text: args.text('content') }];
  const read = V0_ACTIONS.get(action);
  return [read === undefined ? leftOut(action) : read(args, args.optionalText('thought'))];
}

/** In place of an action of another tool, such as a browser. */
function leftOut(action: string): ReplayStep {
  const name = shortened(action, LONGEST_NAME);
  const text = `The recorded action ${name} was left out of this replay.`;
  return { type: 'message', text, ends_turn: false };
}

const V1_EVENTS = new Map<string, (event: Members) => Reading[]>([
  [
    'MessageEvent',
    ({ json: { source, llm_message: message }, at }) => {
      const text = isRecord(message) ? contentText(message['content']) : '';
      if (source === 'user') return [{ type: 'user', text }];
      if (source !== 'agent') return [];
      if (text !== '') return [{ type: 'message', text, ends_turn: false }];
      throw new ReplayError(`${at} (MessageEvent): "llm_message.content" holds no text`);
    },
  ],
  [
    'ActionEvent',
    (event) => {
      const { action, source, security_risk, thought } = event.json;
      // A tool call with wrong arguments has no action.
      if (action == null || source === 'user') return [];
      const risk = RISKS.find((each) => each === security_risk);
      return readAction(event.record('action', event.at), contentText(thought)).map((step) =>
        step.type === 'terminal' || step.type === 'edit' ? { ...step, risk } : step,
      );
    },
  ],
  [
    'ConversationErrorEvent',
    (event) => {
      const code = event.json['code'] == null ? 'Error' : event.text('code');
      return [{ type: 'break', status: 'error', code, detail: event.optionalText('detail') }];
    },
  ],
  [
    'ConversationStateUpdateEvent',
    ({ json: { key, value } }) =>
      key === 'execution_status' && value === 'stuck'
        ? [{ type: 'break', status: 'stuck', code: '', detail: '' }]
        : [],
  ],
]);

const readEditorAction: ReadAction = (action, thought) =>
  editStep(action.text('command'), action, thought);

const V1_ACTIONS = new Map<string, ReadAction>([
  ['TerminalAction', terminalStep],
  ['ExecuteBashAction', terminalStep],
  ['FileEditorAction', readEditorAction],
  ['StrReplaceEditorAction', readEditorAction],
  ['ThinkAction', (action) => ({ type: 'think', thought: action.text('thought') })],
  [
    'FinishAction',
    (action, thought) => ({ type: 'finish', message: action.text('message'), thought }),
  ],
]);

/** Every other event is a result. */
function readAction(action: Members, thought: string): ReplayStep[] {
  const { json, at } = action;
  const kind = action.text('kind');
  if (kind === 'TaskTrackerAction') return [];
  const read = V1_ACTIONS.get(kind);
  return [read === undefined ? leftOut(kind) : read(new Members(json, `${at} (${kind})`), thought)];
}

function terminalStep(action: Members, thought: string) {
  return {
    type: 'terminal' as const,
    command: action.text('command'),
    is_input: action.json['is_input'] === true,
    reset: action.json['reset'] === true,
    timeout_seconds: action.optionalNumber('timeout'),
    thought,
  };
}

function writeStep(args: Members, thought: string): EditStep {
  const [path, file_text] = [args.text('path'), args.text('content')];
  return { type: 'edit', command: 'create', path, file_text, thought };
}

const EDITS: Record<EditStep['command'], (args: Members) => Partial<EditStep>> = {
  create: (args) => ({ file_text: args.text('file_text') }),
  str_replace: (args) => ({ old_str: args.text('old_str'), new_str: args.optionalText('new_str') }),
  insert: (args) => ({ insert_line: args.number('insert_line'), new_str: args.text('new_str') }),
  view: (args) => {
    const range = args.json['view_range'];
    if (range != null) {
      if (Array.isArray(range) && range.length === 2 && range.every(Number.isInteger))
        return { view_range: range as [number, number] };
      throw new ReplayError(`${args.at}: "view_range" must hold two whole numbers`);
    }
    // V0: `start` and `end` count from 0 and 1; the whole file is 0 and -1.
    const start = args.optionalNumber('start') ?? 0;
    const end = typeof args.json['end'] === 'number' ? args.json['end'] : -1;
    return start === 0 && end === -1 ? {} : { view_range: [start + 1, end] };
  },
  undo_edit: () => ({}),
};

function editStep(name: string, args: Members, thought: string): EditStep {
  const command = EDITOR_COMMANDS.find((each) => each === name);
  if (command === undefined) {
    throw new ReplayError(
      `${args.at}: unknown "command": ${name}; allowed are ${EDITOR_COMMANDS.join(', ')}`,
    );
  }
  return { type: 'edit', command, path: args.text('path'), thought, ...EDITS[command](args) };
}

function contentText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('\n');
}
