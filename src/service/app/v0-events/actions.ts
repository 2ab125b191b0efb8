/** Actions of V1 as V0 has them. */
import type { V0Draft } from './event.ts';

type Members = Record<string, unknown>;

export function asRecord(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The texts of a list of content blocks, one below the other. */
export function textsOf(blocks: unknown): string {
  if (!Array.isArray(blocks)) return asText(blocks);
  return blocks
    .map((block) => asText(asRecord(block).text))
    .filter((text) => text !== '')
    .join('\n');
}

const RISKS: Record<string, number> = { UNKNOWN: -1, LOW: 0, MEDIUM: 1, HIGH: 2 };

/** An ActionEvent. */
export function actionDraft(event: Members): V0Draft {
  const action = asRecord(event.action);
  const thought = textsOf(event.thought);
  const security_risk = RISKS[asText(event.security_risk)] ?? -1;
  const draft = draftOf(asText(action.kind), action, { thought, security_risk });
  // The user runs commands too, without a model that would call for them.
  return event.source === 'user'
    ? { source: 'user', ...draft }
    : { source: 'agent', ...draft, tool_call_metadata: toolCallOf(event) };
}

/** Which call of the model an action or its observation belongs to. */
export function toolCallOf(event: Members): Members {
  const call = { function_name: asText(event.tool_name), tool_call_id: asText(event.tool_call_id) };
  return { ...call, model_response: null, total_calls_in_response: 1 };
}

type Draft = Pick<V0Draft, 'message' | 'action' | 'args'>;

function draftOf(kind: string, action: Members, common: { thought: string; security_risk: number }): Draft {
  switch (kind) {
    case 'TerminalAction':
    case 'ExecuteBashAction':
      return runDraft(action, common);
    case 'FileEditorAction':
      return editorDraft(action, common);
    case 'FinishAction':
      return {
        message: asText(action.message),
        action: 'finish',
        args: { final_thought: asText(action.message), outputs: {}, thought: common.thought },
      };
    case 'ThinkAction':
      return { message: asText(action.thought), action: 'think', args: { thought: asText(action.thought) } };
    default: {
      const { kind: _kind, data, ...rest } = action;
      const args = { name: kind, arguments: data ?? rest, ...common };
      return { message: `Calling the tool ${kind}`, action: 'call_tool_mcp', args };
    }
  }
}

function runDraft(action: Members, common: Members): Draft {
  const command = asText(action.command);
  return {
    message: `Running command: ${command}`,
    action: 'run',
    args: {
      command,
      is_input: action.is_input === true,
      ...common,
      blocking: false,
      is_static: false,
      cwd: null,
      hidden: false,
      confirmation_state: 'confirmed',
    },
  };
}

function editorDraft(action: Members, common: Members): Draft {
  const path = asText(action.path);
  const base = { path, ...common };
  if (action.command === 'create') {
    const args = { ...base, content: asText(action.file_text), start: 0, end: -1 };
    return { message: `Writing file: ${path}`, action: 'write', args };
  }
  if (action.command === 'view') {
    const [start, end] = Array.isArray(action.view_range) ? (action.view_range as unknown[]) : [];
    const args = { ...base, start: typeof start === 'number' ? start - 1 : 0, end: typeof end === 'number' ? end : -1 };
    return { message: `Reading file: ${path}`, action: 'read', args };
  }
  const { command, old_str = null, new_str = null, insert_line = null } = action;
  const args = { ...base, command, file_text: null, old_str, new_str, insert_line, content: '', start: 1, end: -1 };
  return { message: `Editing file: ${path}`, action: 'edit', args };
}
