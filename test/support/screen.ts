/**
 * A terminal as a user sees it: rows, which a line feed, a carriage return and `CSI J` (to the end)
 * change. Marks of synchronized output change nothing.
 */
export class Screen {
  private readonly lines = [''];

  /** What the rows hold. */
  get text(): string {
    return this.lines.join('\n');
  }

  /** The row of the cursor. */
  get last(): string {
    return this.lines.at(-1) ?? '';
  }

  write(text: string): void {
    for (const part of text.replace(/\x1b\[\?2026[hl]/g, '').split(/(\r|\n|\x1b\[J)/)) {
      const row = this.lines.length - 1;
      if (part === '\n') this.lines.push('');
      else if (part === '\x1b[J') this.lines[row] = '';
      else if (part !== '\r') this.lines[row] += part;
    }
  }
}
