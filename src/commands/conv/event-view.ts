import type { ConversationEvent } from '../../domain/event.ts';
import {
  commandOf,
  elapsed,
  exitCodeOf,
  fullText,
  isErrorOf,
  riskOf,
  shapeOf,
  statusWordOf,
  thoughtOf,
} from '../../domain/event-payload.ts';
import type { LinePart, View } from '../../output/view.ts';
import { parseTime } from '../../base/text/time.ts';
import { shortened } from '../../base/text/well-formed.ts';

interface Most {
  lines: number;
  characters: number;
}
const OUTPUT: Most = { lines: 8, characters: 240 };
const COMMAND: Most = { lines: 12, characters: 600 };
const THOUGHT: Most = { lines: 6, characters: 600 };
const REQUEST: Most = { lines: 40, characters: 2_000 };
/** What the agent answers is what a person came for. */
const ANSWER: Most = { lines: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY };

/** `ConversationStateUpdateEvent` is `state`; kinds of V0 stay as they are. */
export function shortKind(kind: string): string {
  const words = kind.replace(/^Conversation|Update|Event$/g, '').split(/(?<=[a-z])(?=[A-Z])/);
  return words.join(' ').toLowerCase();
}

/** @param startedAt RFC 3339; lines and tables show the time since then */
export function eventView(startedAt: string | null): View<ConversationEvent> {
  const startMs = parseTime(startedAt);
  let firstMs: number | null = null;
  const clock = ({ timestamp }: ConversationEvent): string => {
    const ms = parseTime(timestamp);
    firstMs ??= startMs ?? ms;
    return ms === null || firstMs === null ? '' : elapsed(ms - firstMs);
  };
  return {
    noun: 'event',
    id: (event) => event.id,
    fields: [
      { name: 'type' },
      { name: 'id', as: 'id' },
      { name: 'conversation_id', as: 'id' },
      { name: 'timestamp', label: 'time', as: 'time', weight: 0, show: clock },
      { name: 'source', weight: 0 },
      { name: 'kind', weight: 2, show: ({ kind }) => shortKind(kind) },
      { name: 'text', weight: 4 },
      { name: 'payload', as: 'json', json: { members: ['…'] } },
    ],
    table: ['timestamp', 'source', 'kind', 'text'],
    tsv: ['id', 'timestamp', 'source', 'kind', 'text'],
    record: ({ signal: _, ...event }) => event,
    lineIndent: 7, // under the text, beside the clock
    line: (event) => eventLine(event, clock(event)),
  };
}

function eventLine(event: ConversationEvent, clock: string): LinePart[] {
  const start: LinePart = { text: `${clock.padStart(5)}  `, tone: 'dim' };
  if (event.signal === 'message')
    return [start, { text: 'you    ', tone: 'accent' }, ...message(event, REQUEST)];
  const word = statusWordOf(event);
  if (word !== null) return [start, { text: `· ${word.replaceAll('_', ' ')}`, tone: 'dim' }];
  switch (shapeOf(event)) {
    case 'message':
      return [start, { text: 'agent  ', tone: 'good' }, ...message(event, ANSWER)];
    case 'command':
      return [start, ...thought(event), ...command(event), ...risk(event)];
    case 'finish':
      return [start, { text: '✓ ', tone: 'good' }, ...message(event, ANSWER)];
    case 'output':
      return [start, ...output(event)];
    case 'error':
      return [start, { text: `✗ ${event.text}`, tone: 'bad' }];
    case 'action':
      return [
        start,
        ...thought(event),
        { text: '→ ', tone: 'accent' },
        { text: event.text, tone: 'bold' },
        ...risk(event),
      ];
    case 'other':
      return [start, { text: `· ${event.text}`, tone: 'dim' }];
  }
}

function thought(event: ConversationEvent): LinePart[] {
  const said = block(thoughtOf(event), THOUGHT);
  if (said.length === 0 || said[0] === event.text) return [];
  return [{ text: `${said.join('\n')}\n` }];
}

function risk(event: ConversationEvent): LinePart[] {
  const word = riskOf(event);
  return word === null ? [] : [{ text: `  risk: ${word}`, tone: 'warn' }];
}

function command(event: ConversationEvent): LinePart[] {
  const lines = block(commandOf(event), COMMAND);
  return [{ text: lines.length === 0 ? event.text : `$ ${lines.join('\n  ')}`, tone: 'bold' }];
}

function message(event: ConversationEvent, most: Most): LinePart[] {
  return [{ text: block(fullText(event) || event.text, most).join('\n') }];
}

function output(event: ConversationEvent): LinePart[] {
  const exitCode = exitCodeOf(event);
  const isError = isErrorOf(event) || (exitCode !== null && exitCode > 0);
  const lines = block(fullText(event), OUTPUT);
  const mark = exitCode === null ? '✗ ' : `✗ exit ${exitCode}  `;
  // Several lines may be a table: the mark would move the columns of the first one.
  const text = lines.length > 1 ? `${mark.trimEnd()}\n` : mark;
  const first: LinePart[] = isError ? [{ text, tone: 'bad' }] : [];
  if (lines.length === 0) return [...first, { text: isError ? '' : '✓', tone: 'dim' }];
  return [...first, { text: lines.join('\n'), tone: 'dim' }];
}

function block(text: string, most: Most): string[] {
  const lines = text
    .replaceAll('\r\n', '\n')
    .replace(/^\s*\n|\s+$/g, '')
    .split('\n');
  if (lines.length === 1 && lines[0] === '') return [];
  const shown = lines.slice(0, most.lines).map((line) => shortened(line, most.characters));
  const left = lines.length - shown.length;
  return left > 0 ? [...shown, `… ${left} more line${left === 1 ? '' : 's'}`] : shown;
}
