/** Collects the output of a command in limited memory. */
import { StringDecoder } from 'node:string_decoder';

/**
 * Keeps the beginning and the end of a text. Invalid UTF-8 becomes replacement characters.
 */
export class BoundedText {
  readonly #decoder = new StringDecoder('utf8');
  readonly #keepHead: number;
  readonly #keepTail: number;
  #head = '';
  #tail: string[] = [];
  #tailLength = 0;
  #dropped = 0;

  constructor(keepHead: number, keepTail: number) {
    this.#keepHead = keepHead;
    this.#keepTail = keepTail;
  }

  /** Returns the part of the new text that belongs to the kept beginning, for live readers. */
  push(chunk: Buffer): string {
    return this.#add(this.#decoder.write(chunk));
  }

  end(): string {
    return this.#add(this.#decoder.end());
  }

  /** The whole text, or its beginning and end with a line between with the number of characters left out. */
  toString(): string {
    return this.#head + this.rest();
  }

  /** What follows the kept beginning. */
  rest(): string {
    let tail = this.#tail.join('');
    let dropped = this.#dropped;
    if (tail.length > this.#keepTail) {
      dropped += tail.length - this.#keepTail;
      tail = tail.slice(-this.#keepTail);
    }
    return dropped === 0 ? tail : `\n[... ${String(dropped)} characters of output left out ...]\n${tail}`;
  }

  #add(text: string): string {
    const room = this.#keepHead - this.#head.length;
    const head = room > 0 ? text.slice(0, room) : '';
    this.#head += head;
    const tail = text.slice(head.length);
    if (tail !== '') {
      this.#tail.push(tail);
      this.#tailLength += tail.length;
      while (this.#tail.length > 1 && this.#tailLength - (this.#tail[0]?.length ?? 0) >= this.#keepTail) {
        const gone = this.#tail.shift()?.length ?? 0;
        this.#tailLength -= gone;
        this.#dropped += gone;
      }
    }
    return head;
  }
}
