/**
 * V0 or V1 events as a JSON array, an object that holds one, or JSON lines; as served or as acs
 * prints them.
 */
import { shellQuote } from '../../../base/text/shell-quote.ts';
import { isTooDeep } from '../../../protocol/detail.ts';
import { isRecord, type Json } from '../../../protocol/shape.ts';
import {
  EDITOR_COMMANDS,
  type EditStep,
  ReplayError,
  type ReplayStep,
  RISKS,
} from '../../base/steps.ts';

const LISTS = ['trajectory', 'history', 'events', 'items'];

/**
 * The steps of the agent, and the first message of the user, which is not replayed. Throws
 * ReplayError, which names the event, for an action that cannot be replayed, or without any action.
 */
export function parseTrajectory(text: string): {
  steps: ReplayStep[];
  user_message: string | null;
} {
  const document = parseDocument(text);
  if (isTooDeep(document)) throw new ReplayError('the trajectory is nested too deeply');
  const list = Array.isArray(document)
    ? (document as unknown[])
    : isRecord(document)
      ? LISTS.map((name) => document[name]).find((member): member is unknown[] =>
          Array.isArray(member),
        )
      : undefined;
  if (list === undefined) {
    throw new ReplayError(
      `a trajectory is an array of events, or an object with one as ${LISTS.join(', ')}`,
    );
  }
  // acs prints an event with its served form as `payload`; what it prints besides, start and
  // outcome, is no event.
  const events = list.flatMap((entry) => {
    if (!isRecord(entry)) return [entry];
    if (entry['type'] === 'event' && isRecord(entry['payload'])) return [entry['payload']];
    return entry['type'] === 'started' || entry['type'] === 'outcome' ? [] : [entry];
  });
  const readings = events.flatMap((event, index) => readEvent(event, `event ${String(index + 1)}`));
  const steps = readings.flatMap((reading, index): ReplayStep[] => {
    if (reading.type !== 'message') return reading.type === 'user' ? [] : [reading];
    // A message of the agent ends its turn when a user message or nothing follows.
    const next = readings[index + 1];
    return [
      { ...reading, ends_turn: reading.ends_turn || next === undefined || next.type === 'user' },
    ];
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
    line.trim() === '' ? [] : [read(line, `line ${String(index + 1)}: `)],
  );
}

type Reading = ReplayStep | { type: 'user'; text: string };

function readEvent(event: unknown, where: string): Reading[] {
  if (!isRecord(event)) throw new ReplayError(`${where}: an object is expected`);
  if (typeof event['kind'] === 'string') return readV1(event, event['kind'], where);
  if ('action' in event) return readV0(event, where);
  if ('observation' in event) return [];
  throw new ReplayError(
    `${where}: neither "kind" (V1) nor "action" or "observation" (V0) is there`,
  );
}

const WITHOUT_EFFECT = [
  'think',
  'system',
  'recall',
  'change_agent_state',
  'null',
  'condensation',
  'start',
  '',
];

function readV0(event: Json, where: string): Reading[] {
  const action = text(event, 'action', where);
  const isUsers = event['source'] === 'user';
  if (WITHOUT_EFFECT.includes(action) || (isUsers && action !== 'message')) return [];
  const args = recordMember(event, 'args', where);
  const at = `${where} (${action})`;
  const thought = optionalText(args, 'thought', at) ?? '';
  switch (action) {
    case 'run': {
      const command = text(args, 'command', at);
      const cwd = optionalText(args, 'cwd', at);
      return [
        {
          type: 'terminal',
          command: cwd ? `cd ${shellQuote(cwd)} && ${command}` : command,
          is_input: args['is_input'] === true,
          reset: false,
          timeout_seconds:
            optionalNumber(args, 'timeout', at) ?? optionalNumber(args, 'hard_timeout', at),
          thought,
        },
      ];
    }
    case 'write': {
      const file_text = text(args, 'content', at);
      return [
        { type: 'edit', command: 'create', path: text(args, 'path', at), file_text, thought },
      ];
    }
    case 'read':
      return [editStep('view', args, thought, at)];
    case 'edit': {
      // The editor form has `command`; the older form has `content`, written over the lines `start`
      // to `end`.
      const command = optionalText(args, 'command', at);
      if (command) return [editStep(command, args, thought, at)];
      if ((args['start'] ?? 1) !== 1 || (args['end'] ?? -1) !== -1) {
        throw new ReplayError(
          `${at}: an edit of a range of lines cannot be replayed; "command" is missing`,
        );
      }
      const file_text = text(args, 'content', at);
      return [
        { type: 'edit', command: 'create', path: text(args, 'path', at), file_text, thought },
      ];
    }
    case 'message': {
      const content = text(args, 'content', at);
      if (isUsers) return [{ type: 'user', text: content }];
      return [{ type: 'message', text: content, ends_turn: args['wait_for_response'] === true }];
    }
    case 'finish': {
      const message =
        optionalText(args, 'final_thought', at) || optionalText(args, 'message', at) || thought;
      return [{ type: 'finish', message: message || 'Finished.', thought: '' }];
    }
    default:
      throw new ReplayError(
        `${where}: the action "${action}" cannot be replayed; allowed are run, write, read, ` +
          `edit, message and finish`,
      );
  }
}

function readV1(event: Json, kind: string, where: string): Reading[] {
  switch (kind) {
    case 'MessageEvent': {
      const said = isRecord(event['llm_message'])
        ? contentText(event['llm_message']['content'])
        : '';
      if (event['source'] === 'user') return [{ type: 'user', text: said }];
      if (event['source'] !== 'agent') return [];
      if (said === '')
        throw new ReplayError(`${where} (MessageEvent): "llm_message.content" holds no text`);
      return [{ type: 'message', text: said, ends_turn: false }];
    }
    case 'ActionEvent': {
      // An action the agent got wrong was never executed: it is there without one.
      if (event['action'] == null || event['source'] === 'user') return [];
      const risk = RISKS.find((each) => each === event['security_risk']);
      const steps = readAction(
        recordMember(event, 'action', where),
        contentText(event['thought']),
        where,
      );
      return steps.map((step) =>
        step.type === 'terminal' || step.type === 'edit' ? { ...step, risk } : step,
      );
    }
    case 'ConversationErrorEvent': {
      const code = optionalText(event, 'code', where) ?? 'Error';
      return [
        {
          type: 'break',
          status: 'error',
          code,
          detail: optionalText(event, 'detail', where) ?? '',
        },
      ];
    }
    case 'ConversationStateUpdateEvent': {
      const isStuck = event['key'] === 'execution_status' && event['value'] === 'stuck';
      return isStuck ? [{ type: 'break', status: 'stuck', code: '', detail: '' }] : [];
    }
    default:
      // Every other event is a result, not an action of the agent.
      return kind.endsWith('Action') ? readAction(event, '', where) : [];
  }
}

function readAction(action: Json, thought: string, where: string): ReplayStep[] {
  const kind = text(action, 'kind', where);
  const at = `${where} (${kind})`;
  switch (kind) {
    case 'TerminalAction':
    case 'ExecuteBashAction':
      return [
        {
          type: 'terminal',
          command: text(action, 'command', at),
          is_input: action['is_input'] === true,
          reset: action['reset'] === true,
          timeout_seconds: optionalNumber(action, 'timeout', at),
          thought,
        },
      ];
    case 'FileEditorAction':
    case 'StrReplaceEditorAction':
      return [editStep(text(action, 'command', at), action, thought, at)];
    case 'ThinkAction':
      return [{ type: 'think', thought: text(action, 'thought', at) }];
    case 'FinishAction':
      return [{ type: 'finish', message: text(action, 'message', at), thought }];
    case 'TaskTrackerAction':
      return [];
    default:
      throw new ReplayError(
        `${where}: the action "${kind}" cannot be replayed; allowed are TerminalAction, ` +
          `FileEditorAction, ThinkAction and FinishAction`,
      );
  }
}

function editStep(name: string, args: Json, thought: string, at: string): EditStep {
  const command = EDITOR_COMMANDS.find((each) => each === name);
  if (command === undefined) {
    throw new ReplayError(
      `${at}: unknown "command": ${name}; allowed are ${EDITOR_COMMANDS.join(', ')}`,
    );
  }
  const step: EditStep = { type: 'edit', command, path: text(args, 'path', at), thought };
  switch (command) {
    case 'create':
      return { ...step, file_text: text(args, 'file_text', at) };
    case 'str_replace':
      return {
        ...step,
        old_str: text(args, 'old_str', at),
        new_str: optionalText(args, 'new_str', at) ?? '',
      };
    case 'insert': {
      const insert_line = optionalNumber(args, 'insert_line', at);
      if (insert_line === undefined)
        throw new ReplayError(`${at}: "insert_line" must be a number and is missing`);
      return { ...step, insert_line, new_str: text(args, 'new_str', at) };
    }
    case 'view': {
      const range = args['view_range'] ?? undefined;
      if (Array.isArray(range) && range.length === 2 && range.every(Number.isInteger)) {
        return { ...step, view_range: range as [number, number] };
      }
      if (range !== undefined)
        throw new ReplayError(`${at}: "view_range" must hold two whole numbers`);
      // V0: `start` and `end` count from 0 and 1; the whole file is 0 and -1.
      const start = optionalNumber(args, 'start', at) ?? 0;
      const end = typeof args['end'] === 'number' ? args['end'] : -1;
      return start === 0 && end === -1 ? step : { ...step, view_range: [start + 1, end] };
    }
    case 'undo_edit':
      return step;
  }
}

function text(record: Json, name: string, where: string): string {
  const value = record[name];
  if (typeof value === 'string') return value;
  throw new ReplayError(
    `${where}: "${name}" must be a string${value === undefined ? ' and is missing' : ''}`,
  );
}

function optionalText(record: Json, name: string, where: string): string | undefined {
  return record[name] == null ? undefined : text(record, name, where);
}

function optionalNumber(record: Json, name: string, where: string): number | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0))
    return value;
  throw new ReplayError(`${where}: "${name}" must be a number that is not negative`);
}

function recordMember(record: Json, name: string, where: string): Json {
  const value = record[name];
  if (isRecord(value)) return value;
  throw new ReplayError(
    `${where}: "${name}" must be an object${value === undefined ? ' and is missing' : ''}`,
  );
}

function contentText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('\n');
}
