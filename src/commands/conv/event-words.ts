/** What an event says in full, of either dialect; empty when it is elsewhere. The text is untrusted. */
import type { ConversationEvent } from '../../domain/event.ts';

type Payload = Pick<ConversationEvent, 'payload'>;

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

/** Why the agent does what it does, when it said so. */
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
