/** Where the data of one command goes, and what that place can show. */
import { NO_COLORS } from '../text/palette.ts';
import { createSafeStream, type SafeStream } from '../text/safe-text.ts';
import { type Destination, fileDestination, streamDestination } from './destination.ts';
import type { Look } from './render.ts';
import type { EmitterOptions } from './emitter-options.ts';

export interface Outlet {
  /** Whether data is printed on a terminal: stdout is one, and there is no --output. */
  readonly onTerminal: boolean;
  write(chunk: string | Uint8Array): Promise<void>;
  /** Bytes as they are; on a terminal made safe. */
  raw(chunk: string | Uint8Array): Promise<void>;
  look(): Promise<Look>;
  close(): Promise<void>;
  abandon(): Promise<void>;
}

/** The columns of a terminal that does not report its width. */
const UNKNOWN_COLUMNS = 80;

export function createOutlet({ io, globals, cwd = '.', now, palette }: EmitterOptions): Outlet {
  const file = globals.output === undefined || globals.output === '-' ? null : globals.output;
  const destination: Destination = file === null ? streamDestination(io.stdout) : fileDestination(file, cwd);
  const onTerminal = io.stdout.isTTY && file === null;
  let safeStream: SafeStream | null = null;
  return {
    onTerminal,
    write: (chunk) => destination.write(chunk),
    raw(chunk) {
      if (!onTerminal) return destination.write(chunk);
      safeStream ??= createSafeStream();
      return destination.write(safeStream.push(chunk));
    },
    look: async () => ({
      width: onTerminal ? io.stdout.columns || UNKNOWN_COLUMNS : Number.POSITIVE_INFINITY,
      // On a pipe there are colours only with FORCE_COLOR (for `less -R`), in a file never.
      palette: file === null && palette ? await palette() : NO_COLORS,
      nowMs: now(),
    }),
    async close() {
      if (safeStream) await destination.write(safeStream.end());
      safeStream = null;
      await destination.close();
    },
    abandon: () => destination.abandon(),
  };
}
