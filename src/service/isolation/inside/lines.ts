/** `push` throws for a line that is longer than `longest` bytes. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(onLine: (line: string) => void, longest: number = Number.MAX_SAFE_INTEGER) {
    this.#onLine = onLine;
    this.#longest = longest;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, start);
      if (end === -1) break;
      this.#pieces.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#pieces).toString('utf8');
      this.#pieces = [];
      this.#size = 0;
      start = end + 1;
      if (line !== '') this.#onLine(line);
    }
    if (start === chunk.length) return;
    this.#pieces.push(start === 0 ? chunk : chunk.subarray(start));
    this.#size += chunk.length - start;
    if (this.#size > this.#longest) throw new Error('a line is too long');
  }
}
