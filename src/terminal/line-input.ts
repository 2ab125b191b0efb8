/** The terminal is in raw mode until `close`: Ctrl-C and Ctrl-Z are keys. */
import { createInterface, emitKeypressEvents, type Interface, type Key } from 'node:readline';
import { PassThrough } from 'node:stream';
import { aroundWrites, TerminalStream, type TerminalStreams } from './writable.ts';
import type { TerminalEvents } from './status-line.ts';

/** `interrupt`: Ctrl-C without a text; `end`: Ctrl-D without one, or the end of the input. */
export type Line = { type: 'text'; text: string } | { type: 'interrupt' } | { type: 'end' };

export interface LineQuestion {
  prompt: string;
  /** `message`: begins with the text that was typed ahead or put back, and enters the history. */
  kind: 'message' | 'answer';
  until?: AbortSignal;
}

export interface LineInputOptions {
  io: TerminalStreams & { stdin: { raw: NodeJS.ReadableStream } };
  signal: AbortSignal;
  watch: (events: Pick<TerminalEvents, 'onResize' | 'onContinue'>) => () => void;
  stopProcess: () => void;
}

const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' } as const;
/** All but line feeds and tabs: a terminal would obey them. */
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/** Readline lets its caller set `line` and `cursor`: https://nodejs.org/api/readline.html */
type Editor = Interface & { line: string; cursor: number; prevRows: number };

export class LineInput {
  onInterrupt = (): void => undefined;
  /** Called on Enter while nothing is read: true removes the line, false keeps it. */
  onEnter: (line: string) => boolean = () => false;
  private readonly options: LineInputOptions;
  private readonly keyboard: NodeJS.ReadableStream & { setRawMode?: (isRaw: boolean) => unknown };
  private readonly write: (text: string) => Promise<void>;
  private readonly editor: Editor;
  private readonly history = new History();
  private draft: string | null = null;
  private pasted: string | null = null;
  private state: 'hidden' | 'shown' | 'cleared' = 'hidden';
  private last: Promise<void> = Promise.resolve();
  private enter: ((line: Line) => void) | null = null;
  private readonly restore: (() => void)[];

  constructor(options: LineInputOptions) {
    this.options = options;
    const { stdin, stderr } = options.io;
    this.keyboard = stdin.raw;
    this.write = stderr.write.bind(stderr);
    const output = new TerminalStream(
      {
        write: (chunk) => (this.state === 'shown' ? this.put(chunk) : Promise.resolve()),
        isTTY: true,
        get columns() {
          return stderr.columns;
        },
      },
      'colors',
    );
    const input = new PassThrough();
    this.editor = createInterface({
      input,
      output,
      terminal: true,
      historySize: 0,
    }) as unknown as Editor;
    emitKeypressEvents(this.keyboard);
    this.listen();
    this.restore = [
      aroundWrites(options.io, { before: () => this.clear(), after: () => this.draw() }),
      options.watch({ onResize: () => this.resize(), onContinue: () => this.resume() }),
    ];
  }

  /** Keys that are typed at other times are kept. */
  async read({ prompt, kind, until }: LineQuestion): Promise<Line> {
    const signal = AbortSignal.any([this.options.signal, ...(until ? [until] : [])]);
    signal.throwIfAborted();
    if (kind === 'answer') {
      this.draft = this.editor.line;
      this.set('');
    }
    // The last Enter of a text that was typed ahead is for sending it.
    else this.set(this.editor.line.replace(/\n$/, ''));
    this.editor.setPrompt(prompt);
    this.state = 'cleared';
    this.draw();
    try {
      const line = await new Promise<Line>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        this.enter = resolve;
      });
      if (kind === 'message') {
        this.history.add(this.editor.line);
        this.clear();
        this.set('');
      }
      return line;
    } finally {
      this.enter = null;
      this.clear();
      this.state = 'hidden';
      if (this.draft !== null) this.set(this.draft);
      this.draft = null;
      await this.last;
    }
  }

  remember(text: string): void {
    this.history.add(text);
  }

  putBack(text: string): void {
    const typed = this.editor.line;
    this.set(typed === '' ? text : `${text}\n${typed}`);
  }

  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.unlisten();
    try {
      return await work();
    } finally {
      this.listen();
    }
  }

  async close(): Promise<void> {
    this.unlisten();
    for (const undo of this.restore) undo();
    this.editor.close();
    await this.last;
  }

  private listen(): void {
    this.keyboard.setRawMode?.(true);
    this.keyboard.on('keypress', this.onKey).on('end', this.onEnd).resume();
    void this.put(PASTE_MARKS.on);
  }

  private unlisten(): void {
    void this.put(PASTE_MARKS.off);
    this.keyboard.off('keypress', this.onKey).off('end', this.onEnd).pause();
    this.keyboard.setRawMode?.(false);
  }

  /** Readline handles the other keys. */
  private readonly keys: Readonly<Record<string, () => void>> = {
    'paste-start': () => void (this.pasted = ''),
    'ctrl-c': () => this.interrupt(),
    'ctrl-z': () => this.stop(),
    return: () => this.onReturn(),
    'alt-return': () => this.insert('\n'),
    enter: () => this.insert('\n'), // Ctrl-J
    up: () => this.move(-1),
    'ctrl-p': () => this.move(-1),
    down: () => this.move(1),
    'ctrl-n': () => this.move(1),
  };

  private readonly onEnd = (): void => this.enter?.({ type: 'end' });

  private readonly onKey = (text: string | undefined, key: Key): void => {
    if (key.name === 'paste-end') return this.endPaste();
    if (this.pasted !== null) {
      this.pasted += text ?? '';
      return;
    }
    const name = `${key.ctrl ? 'ctrl-' : ''}${key.meta ? 'alt-' : ''}${key.name ?? ''}`;
    if (name === 'ctrl-d' && this.editor.line === '') return this.onEnd();
    const act = this.keys[name];
    if (act !== undefined) return act();
    this.editor.write(text?.replace(CONTROLS, '') as string, key);
  };

  private onReturn(): void {
    const { line, cursor } = this.editor;
    if (line[cursor - 1] !== '\\') {
      if (this.enter !== null) return this.enter({ type: 'text', text: line });
      const begin = line.lastIndexOf('\n') + 1;
      if (begin < line.length)
        this.set(this.onEnter(line.slice(begin)) ? line.slice(0, begin) : `${line}\n`);
      return;
    }
    this.show({ line: `${line.slice(0, cursor - 1)}\n${line.slice(cursor)}`, cursor });
  }

  private interrupt(): void {
    if (this.enter === null) return this.onInterrupt();
    if (this.editor.line === '') return this.enter({ type: 'interrupt' });
    this.history.reset();
    this.set('');
  }

  private endPaste(): void {
    // A terminal may send either of the two line breaks, or both, for one.
    const text = (this.pasted ?? '').replace(/\r\n?/g, '\n').replace(CONTROLS, '');
    this.pasted = null;
    this.insert(text);
  }

  private insert(text: string): void {
    const { line, cursor } = this.editor;
    this.show({
      line: line.slice(0, cursor) + text + line.slice(cursor),
      cursor: cursor + text.length,
    });
  }

  /** To the same column of the line above or below, or to another text of the history. */
  private move(direction: -1 | 1): void {
    const { line, cursor } = this.editor;
    const startOf = (at: number): number => `\n${line}`.lastIndexOf('\n', at);
    const endOf = (at: number): number => `${line}\n`.indexOf('\n', at);
    const [start, end] = [startOf(cursor), endOf(cursor)];
    if (direction < 0 ? start > 0 : end < line.length) {
      const other = direction < 0 ? startOf(start - 1) : end + 1;
      const at = Math.min(other + cursor - start, endOf(other));
      return this.show({ line, cursor: /[\udc00-\udfff]/.test(line[at] ?? '') ? at - 1 : at });
    }
    const text = this.history.recall(direction, line);
    if (text !== null) this.set(text);
  }

  private set(line: string): void {
    this.show({ line, cursor: line.length });
  }

  private show({ line, cursor }: { line: string; cursor: number }): void {
    this.editor.line = line;
    this.editor.cursor = cursor;
    if (this.state === 'shown') this.editor.prompt(true);
  }

  private draw(): void {
    if (this.state !== 'cleared') return;
    this.state = 'shown';
    this.editor.prevRows = 0;
    this.editor.prompt(true);
  }

  private clear(): void {
    if (this.state !== 'shown') return;
    const { rows } = this.editor.getCursorPos();
    void this.put(`\r${rows > 0 ? `\x1b[${rows}A` : ''}\x1b[J`);
    this.state = 'cleared';
  }

  /** The terminal has broken the rows anew; readline has to find their first one. */
  private resize(): void {
    if (this.state !== 'shown') return;
    this.editor.prevRows = this.editor.getCursorPos().rows;
    this.editor.prompt(true);
  }

  private stop(): void {
    this.clear();
    void this.put(PASTE_MARKS.off);
    this.keyboard.setRawMode?.(false);
    this.options.stopProcess();
  }

  /** The shell has set the terminal to its own mode meanwhile. */
  private resume(): void {
    this.keyboard.setRawMode?.(false);
    this.keyboard.setRawMode?.(true);
    void this.put(PASTE_MARKS.on);
    this.clear();
    this.draw();
  }

  private put(text: string | Uint8Array): Promise<void> {
    // A terminal that is gone is reported by the writes of data.
    return (this.last = this.write(text as string).catch(() => undefined));
  }
}

class History {
  private readonly texts: string[] = [];
  private index = 0;
  private begun = '';

  recall(direction: -1 | 1, shown: string): string | null {
    const index = this.index + direction;
    if (index < 0 || index > this.texts.length) return null;
    if (this.index === this.texts.length) this.begun = shown;
    this.index = index;
    return this.texts[index] ?? this.begun;
  }

  add(text: string): void {
    if (text.trim() !== '' && this.texts.at(-1) !== text) this.texts.push(text);
    this.reset();
  }

  reset(): void {
    this.index = this.texts.length;
    this.begun = '';
  }
}
