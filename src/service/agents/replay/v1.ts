/** Events of the V1 dialect, recognised by `kind`; a bare action (`{kind: "TerminalAction", …}`) is accepted as well. */
import { contentText, isRecord, type JsonRecord, optionalNumber, type Reading, ReplayError } from './reading.ts';
import { optionalRange, optionalText, recordMember, text } from './reading.ts';
import type { BreakStep, EditorCommand, EditStep, Risk } from './steps.ts';
import { editorStep } from './v0.ts';

const SKIPPED: Reading = { type: 'skipped' };
const EDITOR_COMMANDS = new Set(['view', 'create', 'str_replace', 'insert', 'undo_edit']);

export function readV1(event: JsonRecord, where: string): Reading {
  const kind = text(event, 'kind', where);
  if (kind === 'MessageEvent') return message(event, where);
  if (kind === 'ActionEvent') {
    // An action the agent got wrong was never carried out: it is there without one.
    if (event['action'] === null || event['action'] === undefined || event['source'] === 'user') return SKIPPED;
    return withRisk(readAction(recordMember(event, 'action', where), contentText(event['thought']), where), event);
  }
  if (kind === 'ConversationErrorEvent') {
    const code = optionalText(event, 'code', where) ?? 'Error';
    return { type: 'step', step: broken('error', code, optionalText(event, 'detail', where) ?? '') };
  }
  if (kind === 'ConversationStateUpdateEvent' && event['key'] === 'execution_status' && event['value'] === 'stuck') {
    return { type: 'step', step: broken('stuck', '', '') };
  }
  // Every other event is a result, not an action of the agent.
  return kind.endsWith('Action') ? readAction(event, '', where) : SKIPPED;
}

function broken(status: BreakStep['status'], code: string, detail: string): BreakStep {
  return { type: 'break', status, code, detail };
}

const RISKS = new Set(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH']);

function withRisk(reading: Reading, event: JsonRecord): Reading {
  const risk = event['security_risk'];
  if (reading.type !== 'step' || typeof risk !== 'string' || !RISKS.has(risk)) return reading;
  const { step } = reading;
  if (step.type !== 'terminal' && step.type !== 'edit') return reading;
  return { type: 'step', step: { ...step, risk: risk as Risk } };
}

function readAction(action: JsonRecord, thought: string, where: string): Reading {
  const kind = text(action, 'kind', where);
  const place = `${where} (${kind})`;
  switch (kind) {
    case 'TerminalAction':
    case 'ExecuteBashAction':
      return {
        type: 'step',
        step: {
          type: 'terminal',
          command: text(action, 'command', place),
          is_input: action['is_input'] === true,
          reset: action['reset'] === true,
          timeout_seconds: optionalNumber(action, 'timeout', place),
          thought,
        },
      };
    case 'FileEditorAction':
    case 'StrReplaceEditorAction':
      return { type: 'step', step: editor(action, thought, place) };
    case 'ThinkAction':
      return { type: 'step', step: { type: 'think', thought: text(action, 'thought', place) } };
    case 'FinishAction':
      return { type: 'step', step: { type: 'finish', message: text(action, 'message', place), thought } };
    case 'TaskTrackerAction':
      return SKIPPED;
    default:
      throw new ReplayError(
        `${where}: the action "${kind}" cannot be replayed; allowed are TerminalAction, FileEditorAction, ThinkAction and FinishAction`,
      );
  }
}

function editor(action: JsonRecord, thought: string, place: string): EditStep {
  const command = text(action, 'command', place);
  if (!EDITOR_COMMANDS.has(command))
    throw new ReplayError(`${place}: unknown "command": ${command}; allowed are ${[...EDITOR_COMMANDS].join(', ')}`);
  const step = editorStep(command as EditorCommand, text(action, 'path', place), action, thought, place);
  const range = optionalRange(action, 'view_range', place);
  return range === undefined ? step : { ...step, view_range: range };
}

function message(event: JsonRecord, where: string): Reading {
  const said = isRecord(event['llm_message']) ? contentText(event['llm_message']['content']) : '';
  if (event['source'] === 'user') return { type: 'user', text: said };
  if (event['source'] !== 'agent') return SKIPPED;
  if (said === '') throw new ReplayError(`${where} (MessageEvent): "llm_message.content" holds no text`);
  return { type: 'step', step: { type: 'message', text: said, ends_turn: false } };
}
