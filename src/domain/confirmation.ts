import type { ConversationEvent } from './event.ts';
import { isRecord, member, textAt, textOf, type Members } from './event-payload.ts';

export interface PendingAction {
  action_id: string;
  kind: string;
  /** Whole: every line of a command, the new text of a file. */
  text: string;
  risk: 'low' | 'medium' | 'high' | 'unknown';
}

export type ConfirmationDecision = 'accept' | 'reject';

/** Oldest first. An acceptance lets the agent execute all of them. */
export function pendingActionsV1(newestFirst: Iterable<ConversationEvent>): PendingAction[] {
  const answered = new Set<string>();
  const pending: PendingAction[] = [];
  for (const { id, kind, source, payload } of newestFirst) {
    if (kind !== 'ActionEvent') {
      for (const name of ['action_id', 'tool_call_id']) answered.add(textOf(payload[name]));
      continue;
    }
    // A command of the user runs while it has no observation: it needs no approval.
    if (source === 'user' || !isRecord(payload['action'])) continue;
    if (answered.has(id) || answered.has(textOf(payload['tool_call_id']))) continue;
    pending.unshift(pendingActionV1(id, payload, payload['action']));
  }
  return pending;
}

function pendingActionV1(id: string, payload: Members, action: Members): PendingAction {
  const { kind, ...members } = action;
  const tool = textAt(payload, 'tool_name');
  const risk = textAt(payload, 'security_risk').toLowerCase();
  return {
    action_id: id,
    kind: textOf(kind) || tool || 'unknown',
    text: actionText(tool, members),
    risk: RISKS.find((one) => one === risk) ?? 'unknown',
  };
}

const RISKS = ['low', 'medium', 'high'] as const;
// prettier-ignore
const NEVER_ASKED_V0 = new Set([
  'message', 'system', 'recall', 'think', 'finish', 'change_agent_state', 'condensation',
]);

/** The newest action may come before or after the state of the agent. */
export function pendingActionV0(newestFirst: Iterable<ConversationEvent>): PendingAction | null {
  const answered = new Set<unknown>();
  for (const { id, kind, source, payload } of newestFirst) {
    if (kind.startsWith('observation:')) {
      // A runtime reports null for an action that it was not allowed to carry out.
      if (kind !== 'observation:null') answered.add(payload['cause']);
      continue;
    }
    const action = kind.slice('action:'.length);
    if (source !== 'agent' || !kind.startsWith('action:') || NEVER_ASKED_V0.has(action)) continue;
    if (answered.has(payload['id'])) return null;
    const args = Object.entries(member(payload, 'args') ?? {});
    const shown = args.filter(([name]) => !NOT_SHOWN_V0.has(name));
    return {
      action_id: id,
      kind: action,
      text: actionText(action, Object.fromEntries(shown)),
      risk: RISKS[member(payload, 'args', 'security_risk') as number] ?? 'unknown',
    };
  }
  return null;
}

// prettier-ignore
const NOT_SHOWN_V0 = new Set([
  'thought', 'security_risk', 'confirmation_state', 'hidden', 'blocking', 'is_static',
]);

const NO_VALUES = new Set<unknown>([undefined, null, '', false]);

/** Complete: the user decides by this text. */
function actionText(tool: string, members: Members): string {
  const { command, path, ...rest } = members;
  if (typeof command === 'string' && typeof path !== 'string') {
    const input = rest['is_input'] === true ? 'types into the running command: ' : '$ ';
    return `${input}${command}`;
  }
  const parts = [[textOf(command) || tool, textOf(path)].filter((part) => part !== '').join(' ')];
  for (const [name, value] of Object.entries(rest)) {
    if (NO_VALUES.has(value)) continue;
    parts.push(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return parts.join('\n');
}
