/** Replaces the values of secrets in the events of a conversation before an event is stored. */
import type { NewEvent } from './events.ts';

const MASK = '<secret-hidden>';
/** A shorter line of a multi-line secret is not masked: it may be a bracket or an ordinary word. */
const SHORTEST_LINE = 8;

/** Members that the worker writes itself: ids, times, and values of enumerations. */
const STRUCTURE: ReadonlySet<string> = new Set([
  'action_id',
  'id',
  'kind',
  'llm_response_id',
  'name',
  'origin',
  'rejection_source',
  'role',
  'security_risk',
  'tool_call_id',
  'tool_name',
  'type',
]);

/** The marks where the helper has omitted the middle, or the end, of a long text; a secret may be cut there. */
const CUT = /\n\[\.\.\. \d+ characters (?:of output )?left out \.\.\.\]/;

export class Mask {
  /** The longest first: a value may contain another one. */
  readonly #values: readonly string[];

  constructor(secrets: Readonly<Record<string, string>>) {
    const values = new Set(Object.values(secrets).flatMap(formsOf));
    this.#values = [...values].sort((a, b) => b.length - a.length);
  }

  /** The event with every secret in it replaced. */
  event(event: NewEvent): NewEvent {
    // Statuses, ids and numbers of the worker itself.
    if (event.kind === 'ConversationStateUpdateEvent') return event;
    const { id, source, kind, ...members } = event;
    return { ...(id === undefined ? {} : { id }), source, kind, ...this.value(members) };
  }

  value<Value>(value: Value): Value {
    return this.#values.length === 0 ? value : (this.#masked(value) as Value);
  }

  #masked(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.#masked(item));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value as Record<string, unknown>);
    return Object.fromEntries(
      members.map(([name, member]) => [name, STRUCTURE.has(name) ? member : this.#masked(member)]),
    );
  }

  #text(text: string): string {
    const masked = this.#values.reduce((rest, value) => rest.replaceAll(value, MASK), text);
    const cut = CUT.exec(masked);
    if (cut === null) return masked;
    const end = cut.index + cut[0].length;
    const line = masked[end] === '\n' ? '\n' : '';
    return (
      this.#withoutBegin(masked.slice(0, cut.index)) + cut[0] + line + this.#withoutEnd(masked.slice(end + line.length))
    );
  }

  /** A text that was cut off: its end may be the beginning of a secret. */
  #withoutBegin(text: string): string {
    const longest = Math.max(
      ...this.#values.map((value) => overlap(value.length, (length) => text.endsWith(value.slice(0, length)))),
    );
    return longest === 0 ? text : text.slice(0, -longest) + MASK;
  }

  /** The rest of a text that was cut: its beginning may be the end of a secret. */
  #withoutEnd(text: string): string {
    const longest = Math.max(
      ...this.#values.map((value) => overlap(value.length, (length) => text.startsWith(value.slice(-length)))),
    );
    return longest === 0 ? text : MASK + text.slice(longest);
  }
}

/** The greatest length below that of the value for which this is true; 0: none. */
function overlap(valueLength: number, isShared: (length: number) => boolean): number {
  for (let length = valueLength - 1; length > 0; length -= 1) if (isShared(length)) return length;
  return 0;
}

/**
 * The forms of a value in a text: unchanged, with the line ends of a terminal, as part of a JSON text, line by line.
 */
function formsOf(value: string): string[] {
  const trimmed = value.trim();
  const lines = trimmed.split(/\r?\n/);
  const forms = [
    value,
    trimmed,
    lines.join('\r\n'),
    lines.join('\n'),
    ...lines.filter((line) => line.length >= SHORTEST_LINE),
  ];
  return [...forms, ...forms.map((form) => JSON.stringify(form).slice(1, -1))].filter((form) => form !== '');
}
