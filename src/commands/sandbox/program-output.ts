/** Prints the output of a program: the bytes of each stream to its own, or one JSON object a line. */
import type { Context } from '../../context.ts';
import { createSafeStream } from '../../text/safe-text.ts';

export interface ProgramPrinter {
  /** Throws AppError when the output cannot be written: `interrupted` (141) when its reader is gone. */
  print(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>;
  end(exitCode: number): Promise<void>;
}

/** Throws `usage` for another format than JSON. */
export function printerOf(ctx: Context): ProgramPrinter {
  const { format } = ctx.globals;
  if (format === 'json' || format === 'ndjson') return jsonPrinter(ctx);
  ctx.out.check(null, 'raw');
  const { stderr } = ctx.io;
  const safe = stderr.isTTY ? createSafeStream() : null;
  return {
    async print(stream, bytes) {
      if (stream === 'stdout') await ctx.out.raw(bytes);
      else await stderr.write(safe === null ? bytes : safe.push(bytes));
    },
    async end() {
      if (safe !== null) await stderr.write(safe.end());
    },
  };
}

function jsonPrinter(ctx: Context): ProgramPrinter {
  ctx.out.check(null, 'stream');
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const record = async (stream: 'stdout' | 'stderr', text: string): Promise<void> => {
    if (text !== '') await ctx.out.record({ type: 'output', stream, text });
  };
  return {
    // A character may be cut between two parts.
    print: (stream, bytes) => record(stream, decoders[stream].decode(bytes, { stream: true })),
    async end(exitCode) {
      await record('stdout', decoders.stdout.decode());
      await record('stderr', decoders.stderr.decode());
      await ctx.out.record({ type: 'exit', exit_code: exitCode });
    },
  };
}
