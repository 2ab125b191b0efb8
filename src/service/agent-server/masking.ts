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
const CUT = /\n\[\.\.\. \d+ characters (?:of output )?left out \.\.\.\]\n?/;

export class Mask {
  /** The longest first: a value may contain another one. */
  readonly #values: readonly string[];

  constructor(secrets: readonly string[]) {
    const values = new Set(secrets.flatMap(formsOf));
    this.#values = [...values].sort((a, b) => b.length - a.length);
  }

  event(event: NewEvent): NewEvent {
    // Statuses, ids and numbers of the worker itself.
    if (event.kind === 'ConversationStateUpdateEvent') return event;
    const { id, source, kind, ...members } = event;
    return { ...(id === undefined ? {} : { id }), source, kind, ...this.value(members) };
  }

  value<Value>(value: Value): Value {
    return this.#values.length === 0 ? value : (this.#masked(value) as Value);
  }

  /** Of a text that arrives in pieces: what can be shown by now, and an end that may begin a secret. */
  beginning(text: string): [shown: string, rest: string] {
    const masked = this.value(text);
    const begun = this.#longestPart((value, length) => masked.endsWith(value.slice(0, length)));
    const end = masked.length - begun;
    return [masked.slice(0, end), masked.slice(end)];
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
    // What ends there may be the beginning of a secret, and what begins behind it the end of one.
    const end = cut.index + cut[0].length;
    const [head, tail] = [masked.slice(0, cut.index), masked.slice(end)];
    const begun = this.#longestPart((value, length) => head.endsWith(value.slice(0, length)));
    const rest = this.#longestPart((value, length) => tail.startsWith(value.slice(-length)));
    const shownHead = begun === 0 ? head : head.slice(0, -begun) + MASK;
    return shownHead + cut[0] + (rest === 0 ? tail : MASK + tail.slice(rest));
  }

  /** The greatest length, below that of a value, of a part of the value for which this is true; 0: none. */
  #longestPart(isThere: (value: string, length: number) => boolean): number {
    const lengths = this.#values.map((value) => {
      let length = value.length - 1;
      while (length > 0 && !isThere(value, length)) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}

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
