/** What kind of step an event is, when it was, and its texts in full, for either dialect. The texts are untrusted. */
import type { ConversationEvent } from './event.ts';

type Payload = Pick<ConversationEvent, 'payload'>;

export type EventShape = 'message' | 'command' | 'finish' | 'output' | 'error' | 'action' | 'other';

type Said = Pick<ConversationEvent, 'kind' | 'text' | 'payload' | 'source'>;

export function shapeOf({ kind, text, payload, source }: Said): EventShape {
  if (kind === 'MessageEvent' || kind === 'action:message') return 'message';
  if (kind === 'ConversationErrorEvent' || kind === 'ServerErrorEvent' || kind === 'AgentErrorEvent') return 'error';
  if (kind === 'observation:error') return 'error';
  if (kind === 'ActionEvent') {
    const action = member(payload, 'action');
    if (string(action, 'kind') === 'FinishAction') return 'finish';
    return text.startsWith('$ ') ? 'command' : 'action';
  }
  if (kind === 'action:run') return 'command';
  if (kind === 'action:finish') return 'finish';
  if (kind === 'action:system' || kind === 'action:recall' || kind === 'action:change_agent_state') return 'other';
  if (kind.startsWith('action:') && source === 'agent') return 'action';
  if (kind === 'ObservationEvent' || kind.startsWith('observation:')) {
    return kind === 'observation:recall' ? 'other' : 'output';
  }
  return 'other';
}

/** Internal state of the server, and observations that repeat the answer. */
export function isBookkeeping({ kind, payload }: Pick<ConversationEvent, 'kind' | 'payload'>): boolean {
  if (kind === 'ConversationStateUpdateEvent') return payload['key'] !== 'execution_status';
  if (kind === 'observation:null') return true;
  return kind === 'ObservationEvent' && string(member(payload, 'observation'), 'kind') === 'FinishObservation';
}

/** The status of the run in the server's word; null for other events. */
export function statusWordOf({ signal, payload }: Pick<ConversationEvent, 'signal' | 'payload'>): string | null {
  if (!signal?.startsWith('status:')) return null;
  return (string(payload, 'value') || string(member(payload, 'extras'), 'agent_state')).toLowerCase();
}

/** The whole text of a message, an answer or an observation. */
export function fullText({ payload }: Payload): string {
  const args = member(payload, 'args');
  const candidates = [
    content(member(member(payload, 'llm_message'), 'content')),
    content(member(member(payload, 'observation'), 'content')),
    string(member(payload, 'action'), 'message'),
    string(args, 'final_thought'),
    content(member(args, 'content')),
    content(payload['content']),
  ];
  return candidates.find((text) => text !== '') ?? '';
}

/** The reason that the agent gives for an action, when there is one. */
export function thoughtOf({ payload }: Payload): string {
  const { thought } = payload;
  if (Array.isArray(thought)) return thought.map((part) => string(part, 'text')).join(' ');
  return string(member(payload, 'args'), 'thought');
}

/** What is run in the terminal of the sandbox: one line or many. */
export function commandOf({ payload }: Payload): string {
  return string(member(payload, 'action'), 'command') || string(member(payload, 'args'), 'command');
}

/** Null when it is not a command, or one that still runs. */
export function exitCodeOf({ payload }: Payload): number | null {
  return (
    numberOf(member(payload, 'observation'), 'exit_code') ??
    numberOf(member(member(payload, 'extras'), 'metadata'), 'exit_code')
  );
}

export function isErrorOf({ payload }: Payload): boolean {
  return member(member(payload, 'observation'), 'is_error') === true;
}

export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function string(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : '';
}

function content(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .map((part) => string(part, 'text'))
    .filter((text) => text !== '')
    .join('\n');
}

function numberOf(value: unknown, name: string): number | null {
  const found = member(value, name);
  return typeof found === 'number' ? found : null;
}

/** The id of the action that an observation answers; null for other events. */
export function actionIdOf({ payload }: Payload): string | null {
  const { action_id: action, cause } = payload;
  if (typeof action === 'string') return action;
  return typeof cause === 'number' || typeof cause === 'string' ? String(cause) : null;
}

/** The time since the beginning of a run: `0:07`, `12:40`, `1:02:03`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}
