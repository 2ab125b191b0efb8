import type { OutputStream } from '../base/streams.ts';
import { isForPrograms, noticeLine } from '../base/text/notice.ts';
import { isCi, paletteFor, takesColors } from './palette.ts';
import type { TerminalStreams } from './writable.ts';
import type { StatusLineOptions } from './status-line.ts';

export interface Progress {
  update(text: Text): void;
  hide(): void;
  show(): void;
  done(): Promise<void>;
}

/** A status line calls the function each second. */
export type Text = string | (() => string);

export interface ProgressOptions {
  io: TerminalStreams;
  env: NodeJS.ProcessEnv;
  globals: { format?: string; color: 'auto' | 'never' };
  signal: AbortSignal;
  watch: StatusLineOptions['watch'];
  text: Text;
  elsewhere?: 'lines' | 'nothing' | undefined;
  above?: StatusLineOptions['above'];
}

/** A text that changes by itself is below a followed run; others are plain waits. */
export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { io, env, globals, signal, watch, text, elsewhere, above } = options;
  const { stderr } = io;
  const { format, color } = globals;
  if (format === 'id') return NOTHING;
  if (!stderr.isTTY || isCi(env) || env.TERM === 'dumb' || isForPrograms(format))
    return elsewhere === 'nothing' ? NOTHING : lineByLine(stderr, text, format);
  const palette = await paletteFor(stderr, env, color);
  const colors = takesColors(stderr, env, color) ? 'colors' : 'no-colors';
  let current = text;
  const shown = { io, palette, signal, watch, text: () => textOf(current), above };
  const line =
    typeof text === 'string'
      ? new (await import('./spinner.ts')).Spinner(shown, colors)
      : new (await import('./status-line.ts')).StatusLine(shown);
  return {
    update(next) {
      current = next;
      line.draw();
    },
    hide: () => line.hide(),
    show: () => line.show(),
    done: () => line.end(),
  };
}

const NOTHING: Progress = {
  update: () => undefined,
  hide: () => undefined,
  show: () => undefined,
  done: () => Promise.resolve(),
};

function textOf(text: Text): string {
  return typeof text === 'string' ? text : text();
}

function lineByLine(stderr: OutputStream, first: Text, format: string | undefined): Progress {
  let shown: string | null = null;
  let ended = false;
  let last: Promise<void> = Promise.resolve();
  const show = (given: Text): void => {
    const text = textOf(given);
    if (ended || text === shown) return;
    shown = text;
    // A stderr that is closed must not end a wait.
    last = last.then(() => stderr.write(noticeLine(text, format))).catch(() => undefined);
  };
  show(first);
  return {
    ...NOTHING,
    update: show,
    async done() {
      ended = true;
      await last;
    },
  };
}
