import { createSafeStream } from '../base/text/safe-text.ts';
import type { fileDestination } from './destination.ts';
import type { JqFilter, JqOptions } from './jq.ts';

export interface SinkOptions extends JqOptions {
  globals: JqOptions['globals'] & { output?: string };
  cwd: string;
}

/** Where the data of a command goes: stdout, a pager or the file of --output. */
export class Sink {
  readonly onTerminal: boolean;
  /** The deadline of the command: --jq ends by it, or 5 s later. */
  deadlineMs = Infinity;
  protected readonly target: 'stdout' | 'file';
  readonly #options: SinkOptions;
  readonly #safeStream: ReturnType<typeof createSafeStream> | null;
  #toTerminal: (text: string | Uint8Array) => Promise<void>;
  #file: Promise<ReturnType<typeof fileDestination>> | null = null;
  #filter: Promise<JqFilter> | null = null;

  constructor(options: SinkOptions) {
    const { io, globals } = options;
    const { output = '-' } = globals;
    this.#options = options;
    this.target = output === '-' ? 'stdout' : 'file';
    this.onTerminal = io.stdout.isTTY && this.target === 'stdout';
    this.#safeStream = this.onTerminal ? createSafeStream() : null;
    this.#toTerminal = (chunk) => io.stdout.write(chunk);
  }

  protected pageWith(page: (text: string) => Promise<void>): void {
    this.#toTerminal = (chunk) => page(chunk.toString());
  }

  async prepare(): Promise<void> {
    if (this.#options.globals.jq !== undefined) await (await this.#jq()).check();
  }

  /** A text of acs, which --jq filters. */
  protected async write(text: string | Uint8Array): Promise<void> {
    if (this.#options.globals.jq === undefined) await this.put(text);
    else await (await this.#jq()).write(text);
  }

  /** Bytes as they are; made safe on a terminal. */
  raw(chunk: string | Uint8Array): Promise<void> {
    return this.put(this.#safeStream?.push(chunk) ?? chunk);
  }

  async close(): Promise<void> {
    if (this.#safeStream !== null) await this.put(this.#safeStream.end());
    await (await this.#file)?.close();
    await (await this.#filter)?.close();
  }

  async abandon(): Promise<void> {
    await (await this.#file)?.abandon();
    await (await this.#filter)?.close();
  }

  protected async put(chunk: string | Uint8Array): Promise<void> {
    if (this.target === 'file') {
      const { globals, cwd } = this.#options;
      this.#file ??= import('./destination.ts').then(({ fileDestination }) =>
        fileDestination(globals.output ?? '-', cwd),
      );
      await (await this.#file).write(chunk);
    } else if (chunk.length > 0) await this.#toTerminal(chunk);
  }

  #jq(): Promise<JqFilter> {
    return (this.#filter ??= import('./jq.ts').then(
      ({ JqFilter }) => new JqFilter(this.#options, this),
    ));
  }
}
