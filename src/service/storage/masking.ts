/** Masks secrets in what commands and tools print before it is stored, and in events when read. */
import { formsOf } from '../../base/text/secret-values.ts';
import { cut } from '../../base/text/well-formed.ts';

const MASK = '<secret-hidden>';

/** The mark in place of the middle or the end of a long text; a secret may be cut there. */
const CUT = /\n\[\.\.\. \d+ characters (?:of output )?left out \.\.\.\]\n?/;

export class Mask {
  readonly secrets: readonly string[];
  readonly #values: readonly string[];

  constructor(secrets: readonly string[]) {
    this.secrets = secrets;
    this.#values = formsOf(secrets);
  }

  /** Masks an event in JSON, where a value may be escaped. */
  json(event: string): string {
    if (!this.#values.some((value) => event.includes(value))) return event;
    const masked = (_name: string, member: unknown) =>
      typeof member === 'string' ? this.text(member) : member;
    return JSON.stringify(JSON.parse(event, masked));
  }

  /** Splits a text that arrives in pieces before an end that may begin a secret. */
  beginning(text: string): [shown: string, rest: string] {
    const masked = this.text(text);
    const begun = this.#longestPart((value, length) => masked.endsWith(value.slice(0, length)));
    const shown = cut(masked, masked.length - begun);
    return [shown, masked.slice(shown.length)];
  }

  text(text: string): string {
    const masked = this.#values.reduce((rest, value) => rest.replaceAll(value, MASK), text);
    const mark = CUT.exec(masked);
    if (mark === null) return masked;
    // Before the mark a secret may begin, behind it one may end.
    const end = mark.index + mark[0].length;
    const [head, begun] = this.beginning(masked.slice(0, mark.index));
    const tail = masked.slice(end);
    const rest = this.#longestPart((value, length) => tail.startsWith(value.slice(-length)));
    return head + (begun && MASK) + mark[0] + (rest === 0 ? tail : MASK + tail.slice(rest));
  }

  /** The greatest length of an incomplete part of a value for which this is true; 0: none. */
  #longestPart(isThere: (value: string, length: number) => boolean): number {
    const lengths = this.#values.map((value) => {
      let length = value.length - 1;
      while (length > 0 && !isThere(value, length)) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}
