/** Events as rows and as the lines of a run that a person watches. */
import type { ConversationEvent } from '../../domain/event.ts';
import { isUserMessage, runWord } from '../../domain/outcome.ts';
import type { LinePart, View } from '../../output/view.ts';
import { parseTime } from '../../text/time.ts';

/** More of what a command printed is in the events themselves. */
const OUTPUT_LINES = 8;
const OUTPUT_COLUMNS = 240;
const MESSAGE_LINES = 40;
const THOUGHT_LINES = 6;
/** Under the text, beside the clock. */
const INDENT = ' '.repeat(7);

/** @param startedAt RFC 3339; the lines of a stream tell the time since then */
export function eventView(startedAt: string | null): View<ConversationEvent> {
  const startMs = parseTime(startedAt);
  let firstMs: number | null = null;
  return {
    noun: 'event',
    id: (event) => event.id,
    fields: [
      { name: 'type', get: (event) => event.type },
      { name: 'id', get: (event) => event.id, as: 'id' },
      { name: 'conversation_id', get: (event) => event.conversation_id, as: 'id' },
      { name: 'timestamp', get: (event) => event.timestamp, as: 'time', weight: 0 },
      { name: 'source', get: (event) => event.source, weight: 0 },
      { name: 'kind', get: (event) => event.kind, weight: 2 },
      { name: 'text', get: (event) => event.text, weight: 4 },
      { name: 'payload', get: (event) => event.payload, as: 'json' },
    ],
    table: ['timestamp', 'source', 'kind', 'text'],
    tsv: ['id', 'timestamp', 'source', 'kind', 'text'],
    record: (event) => event,
    line(event) {
      const ms = parseTime(event.timestamp);
      firstMs ??= startMs ?? ms;
      return eventLine(event, ms === null || firstMs === null ? '' : elapsed(ms - firstMs));
    },
  };
}

/** What a person need not see: how a server keeps its books, and the answer told a second time as an observation. */
export function isBookkeeping({ kind, payload }: Pick<ConversationEvent, 'kind' | 'payload'>): boolean {
  if (kind === 'ConversationStateUpdateEvent') return payload['key'] !== 'execution_status';
  if (kind === 'observation:null') return true;
  return kind === 'ObservationEvent' && string(member(payload, 'observation'), 'kind') === 'FinishObservation';
}

/** `0:07`, `12:40`, `1:02:03`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

function eventLine(event: ConversationEvent, clock: string): LinePart[] {
  const start: LinePart = { text: `${clock.padStart(5)}  `, tone: 'dim' };
  if (isUserMessage(event)) return [start, { text: 'you    ', tone: 'accent' }, ...message(event)];
  const word = runWord(event);
  if (word !== null) return [start, { text: `· ${word.replaceAll('_', ' ')}`, tone: 'dim' }];
  switch (shapeOf(event)) {
    case 'message':
      return [start, { text: 'agent  ', tone: 'good' }, ...message(event)];
    case 'command':
      return [start, ...thought(event), { text: event.text, tone: 'bold' }];
    case 'finish':
      return [start, { text: '✓ ', tone: 'good' }, ...message(event)];
    case 'output':
      return [start, ...output(event)];
    case 'error':
      return [start, { text: `✗ ${event.text}`, tone: 'bad' }];
    case 'action':
      return [start, ...thought(event), { text: '→ ', tone: 'accent' }, { text: event.text, tone: 'bold' }];
    case 'other':
      return [start, { text: `· ${event.text}`, tone: 'dim' }];
  }
}

type Shape = 'message' | 'command' | 'finish' | 'output' | 'error' | 'action' | 'other';

function shapeOf({ kind, text, payload, source }: ConversationEvent): Shape {
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

/** Why the agent does it, when it said so: a line above what it does. */
function thought({ payload, text }: ConversationEvent): LinePart[] {
  const said = block(thoughtText(payload), THOUGHT_LINES);
  if (said.length === 0 || said[0] === text) return [];
  return [{ text: `${said.join(`\n${INDENT}`)}\n${INDENT}` }];
}

function thoughtText(payload: Record<string, unknown>): string {
  const { thought: said } = payload;
  if (Array.isArray(said)) return said.map((part) => string(part, 'text')).join(' ');
  return string(member(payload, 'args'), 'thought');
}

/** Messages are what a person came for: many lines of them are shown. */
function message(event: ConversationEvent): LinePart[] {
  return [{ text: block(fullText(event) || event.text, MESSAGE_LINES).join(`\n${INDENT}`) }];
}

/** What a command printed: the first lines, and how many are left out; whether it failed. */
function output(event: ConversationEvent): LinePart[] {
  const observation = member(event.payload, 'observation');
  const exitCode =
    numberOf(observation, 'exit_code') ?? numberOf(member(member(event.payload, 'extras'), 'metadata'), 'exit_code');
  const isError = member(observation, 'is_error') === true || (exitCode !== null && exitCode > 0);
  const lines = block(fullText(event), OUTPUT_LINES);
  const first: LinePart[] = isError ? [{ text: exitCode === null ? '✗ ' : `✗ exit ${exitCode}  `, tone: 'bad' }] : [];
  if (lines.length === 0) return [...first, { text: isError ? '' : '✓', tone: 'dim' }];
  return [...first, { text: lines.join(`\n${INDENT}`), tone: 'dim' }];
}

/** Lines of a text, at most so many; blank ones at its ends are dropped. */
function block(text: string, most: number): string[] {
  const lines = text
    .replaceAll('\r\n', '\n')
    .replace(/^\s*\n|\s+$/g, '')
    .split('\n');
  if (lines.length === 1 && lines[0] === '') return [];
  const shown = lines.slice(0, most).map((line) => cut(line));
  const left = lines.length - shown.length;
  return left > 0 ? [...shown, `… ${left} more line${left === 1 ? '' : 's'}`] : shown;
}

function cut(line: string): string {
  return line.length > OUTPUT_COLUMNS ? `${line.slice(0, OUTPUT_COLUMNS)}…` : line;
}

/** The whole text of a message or an observation, of either dialect; empty when it is elsewhere. */
export function fullText({ payload }: Pick<ConversationEvent, 'payload'>): string {
  const action = member(payload, 'action');
  const args = member(payload, 'args');
  const candidates = [
    content(member(member(payload, 'llm_message'), 'content')),
    content(member(member(payload, 'observation'), 'content')),
    string(action, 'message'),
    string(args, 'final_thought'),
    content(member(args, 'content')),
    content(payload['content']),
  ];
  return candidates.find((text) => text !== '') ?? '';
}

function content(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .map((part) => string(part, 'text'))
    .filter((text) => text !== '')
    .join('\n');
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function string(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : '';
}

function numberOf(value: unknown, name: string): number | null {
  const found = member(value, name);
  return typeof found === 'number' ? found : null;
}
