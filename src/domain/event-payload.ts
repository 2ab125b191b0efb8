/** What a payload says. Its texts are untrusted: src/output escapes them. */
import { isRecord, member, type Json as Members } from '../protocol/shape.ts';
import type { ConversationEvent } from './event.ts';
import { shortened } from '../base/text/well-formed.ts';

export { isRecord, member, type Members };

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textAt(value: unknown, ...path: string[]): string {
  return textOf(member(value, ...path));
}

export function contentTexts(content: unknown): string[] {
  const parts = Array.isArray(content)
    ? content.map((part) => textAt(part, 'text'))
    : [textOf(content)];
  return parts.filter((text) => text !== '');
}

const MOST_CHARACTERS = 400;

export function firstLine(text: string): string {
  const trimmed = text.trim();
  const end = trimmed.search(/[\r\n]/);
  const line = end === -1 ? trimmed : `${trimmed.slice(0, end).trimEnd()} …`;
  return shortened(line, MOST_CHARACTERS);
}

type ReadText = (payload: Members) => string;

const lineAt = (payload: Members, ...path: string[]): string => firstLine(textAt(payload, ...path));
const labelled = (label: string, detail: string): string =>
  detail === '' ? label : `${label}: ${detail}`;
const errorText: ReadText = (payload) =>
  labelled(textAt(payload, 'code'), lineAt(payload, 'detail'));

/** Keys are kinds (interface 7.2, 7.6). */
const TEXTS = new Map<string, ReadText>([
  ['MessageEvent', (payload) => contentText(member(payload, 'llm_message', 'content'))],
  ['ActionEvent', actionText],
  ['ObservationEvent', observationText],
  [
    'AgentErrorEvent',
    (payload) => labelled(`error in ${textAt(payload, 'tool_name')}`, lineAt(payload, 'error')),
  ],
  [
    'UserRejectObservation',
    (payload) =>
      labelled(`rejected ${textAt(payload, 'tool_name')}`, lineAt(payload, 'rejection_reason')),
  ],
  [
    'ConversationStateUpdateEvent',
    ({ key, value }) =>
      typeof value === 'object' ? textOf(key) : `${textOf(key)}: ${firstLine(String(value))}`,
  ],
  ['ConversationErrorEvent', errorText],
  ['ServerErrorEvent', errorText],
  ['PauseEvent', () => 'paused'],
  ['InterruptEvent', () => 'interrupted'],
  ['SystemPromptEvent', () => 'system prompt'],
  ['Condensation', (payload) => `history condensed: ${lineAt(payload, 'summary')}`],
  ['CondensationRequest', () => 'condensation of the history requested'],
  ['CondensationSummaryEvent', (payload) => `summary: ${lineAt(payload, 'summary')}`],
  ['SecurityAnalysisEvent', (payload) => labelled('risk', risksOf(payload).join(', '))],
  [
    // A call has an event when it begins and one when it ends.
    'ACPToolCallEvent',
    (payload) => {
      const status = payload['is_error'] === true ? 'failed' : textAt(payload, 'status');
      const hasEnded = ['failed', 'completed'].includes(status);
      return labelled(lineAt(payload, 'title'), hasEnded ? status : '');
    },
  ],
  [
    'HookExecutionEvent',
    (payload) => {
      const result = payload['success'] === true ? 'done' : 'failed';
      const detail = lineAt(payload, 'reason') || lineAt(payload, 'error') || result;
      return labelled(`hook ${textAt(payload, 'hook_event_type')}`, detail);
    },
  ],
  ['LLMCompletionLogEvent', () => 'log of a completion'],
  ['action:message', (payload) => lineAt(payload, 'args', 'content')],
  ['action:run', (payload) => `$ ${lineAt(payload, 'args', 'command')}`],
  [
    'action:finish',
    (payload) =>
      lineAt(payload, 'args', 'final_thought') || lineAt(payload, 'message') || 'finished',
  ],
  ['action:think', (payload) => lineAt(payload, 'args', 'thought')],
  ['action:system', () => 'system prompt'],
  [
    'observation:agent_state_changed',
    (payload) =>
      labelled(textAt(payload, 'extras', 'agent_state'), lineAt(payload, 'extras', 'reason')),
  ],
  ['observation:error', (payload) => labelled('error', lineAt(payload, 'content'))],
]);

/** Another kind of V0 has a message or content; the text of another one of V1 is its name. */
export function eventText(kind: string, payload: Members): string {
  const readText = TEXTS.get(kind);
  if (readText !== undefined) return readText(payload);
  const [, name] = /^(?:unknown|(?:action|observation):)(.*)$/s.exec(kind) ?? [];
  if (name === undefined) return kind;
  return lineAt(payload, 'message') || lineAt(payload, 'content') || name || 'event';
}

function actionText(payload: Members): string {
  const { action } = payload;
  const tool = textAt(payload, 'tool_name');
  if (!isRecord(action)) return `${tool} (not carried out)`;
  switch (action['kind']) {
    case 'TerminalAction':
    case 'ExecuteBashAction':
      return `$ ${lineAt(action, 'command')}`;
    case 'FileEditorAction':
    case 'StrReplaceEditorAction':
      return `${textOf(action['command'])} ${textOf(action['path'])}`.trim();
    case 'FinishAction':
      return lineAt(action, 'message') || 'finished';
    case 'ThinkAction':
      return lineAt(action, 'thought');
    default:
      return lineAt(payload, 'summary') || tool;
  }
}

function observationText(payload: Members): string {
  const content = contentText(member(payload, 'observation', 'content'));
  const exitCode = exitCodeOf({ payload }) ?? 0;
  if (exitCode > 0) return labelled(`exit ${exitCode}`, content);
  return isErrorOf({ payload })
    ? labelled('error', content)
    : content || `${textAt(payload, 'tool_name')}: done`;
}

const RISKS: readonly string[] = ['medium', 'high'];

function risksOf(payload: Members): string[] {
  const { risks } = payload;
  return isRecord(risks) ? Object.values(risks).map((risk) => textOf(risk).toLowerCase()) : [];
}

export function riskOf({ payload }: Payload): string | null {
  return RISKS.find((risk) => risk === textAt(payload, 'security_risk').toLowerCase()) ?? null;
}

function contentText(content: unknown): string {
  const line = firstLine(contentTexts(content).join('\n'));
  const parts: unknown[] = Array.isArray(content) ? content : [];
  const images = parts.filter((part) => textAt(part, 'type') === 'image').length;
  return images === 0 ? line : `${line} [${images} image${images === 1 ? '' : 's'}]`.trim();
}

type Payload = Pick<ConversationEvent, 'payload'>;

export type EventShape = 'message' | 'command' | 'finish' | 'output' | 'error' | 'action' | 'other';

const SHAPES = new Map<string, EventShape>([
  ['MessageEvent', 'message'],
  ['ConversationErrorEvent', 'error'],
  ['ServerErrorEvent', 'error'],
  ['AgentErrorEvent', 'error'],
  ['ObservationEvent', 'output'],
  ['ACPToolCallEvent', 'action'],
  ['action:message', 'message'],
  ['action:run', 'command'],
  ['action:finish', 'finish'],
  ['action:system', 'other'],
  ['action:recall', 'other'],
  ['action:change_agent_state', 'other'],
  ['observation:error', 'error'],
  ['observation:recall', 'other'],
]);

export const EVENT_KINDS: readonly string[] = [...new Set([...TEXTS.keys(), ...SHAPES.keys()])];

export function shapeOf({
  kind,
  text,
  payload,
  source,
}: Pick<ConversationEvent, 'kind' | 'text' | 'payload' | 'source'>): EventShape {
  // A server, or a hook of it, writes messages to the model too.
  if (kind === 'MessageEvent' && ['environment', 'hook'].includes(source ?? '')) return 'other';
  const shape = SHAPES.get(kind);
  if (shape !== undefined) return shape;
  if (kind === 'ActionEvent') {
    if (textAt(payload, 'action', 'kind') === 'FinishAction') return 'finish';
    return text.startsWith('$ ') ? 'command' : 'action';
  }
  if (kind.startsWith('action:') && source === 'agent') return 'action';
  return kind.startsWith('observation:') ? 'output' : 'other';
}

/** Internal state of the server, and events that repeat what another one shows. */
export function isBookkeeping({
  kind,
  payload,
}: Pick<ConversationEvent, 'kind' | 'payload'>): boolean {
  if (kind === 'ConversationStateUpdateEvent') return payload['key'] !== 'execution_status';
  if (kind === 'observation:null' || kind === 'LLMCompletionLogEvent') return true;
  // This analyzer repeats the risk of the action.
  if (kind === 'SecurityAnalysisEvent')
    return (
      payload['analyzer'] === 'LLMSecurityAnalyzer' ||
      !risksOf(payload).some((risk) => RISKS.includes(risk))
    );
  return (
    kind === 'ObservationEvent' && textAt(payload, 'observation', 'kind') === 'FinishObservation'
  );
}

export function statusWordOf({
  signal,
  payload,
}: Pick<ConversationEvent, 'signal' | 'payload'>): string | null {
  if (!signal?.startsWith('status:')) return null;
  return (textAt(payload, 'value') || textAt(payload, 'extras', 'agent_state')).toLowerCase();
}

const CONTENT_PATHS = [
  ['llm_message', 'content'],
  ['observation', 'content'],
  ['action', 'message'],
  ['args', 'final_thought'],
  ['args', 'content'],
  ['system_prompt', 'text'],
  ['content'],
];

export function fullText({ payload }: Payload): string {
  const texts = CONTENT_PATHS.map((path) => contentTexts(member(payload, ...path)).join('\n'));
  return texts.find((text) => text !== '') ?? '';
}

export function thoughtOf({ payload }: Payload): string {
  const { thought } = payload;
  if (Array.isArray(thought)) return thought.map((part) => textAt(part, 'text')).join(' ');
  return textAt(payload, 'args', 'thought');
}

export function commandOf({ payload }: Payload): string {
  return textAt(payload, 'action', 'command') || textAt(payload, 'args', 'command');
}

export function exitCodeOf({ payload }: Payload): number | null {
  const codes = [
    member(payload, 'observation', 'exit_code'),
    member(payload, 'extras', 'metadata', 'exit_code'),
  ];
  return codes.find((code) => typeof code === 'number') ?? null;
}

export function isErrorOf({ payload }: Payload): boolean {
  return member(payload, 'observation', 'is_error') === true;
}

export function actionIdOf({ payload }: Payload): string | null {
  const { action_id: action, cause } = payload;
  if (typeof action === 'string') return action;
  return typeof cause === 'number' ? String(cause) : null;
}

/** The time since the beginning of a run: `0:07`, `12:40`, `1:02:03`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}
