import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { sizeOf } from '../terminal-size.ts';
import { createControls } from './controls.ts';
import { requireSocket } from './exec.ts';
import { findRunning } from './running.ts';
import { sandboxes } from './sandboxes.ts';

interface ShellOptions {
  resume?: boolean;
}

export function declareShell(parent: Command, ctx: Context): void {
  const command = parent.command('shell').description('open a shell in a sandbox of the local service');
  command.argument('<id>', 'the sandbox').option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'The shell has a terminal of its own: every key is passed on to it, Ctrl-C and Ctrl-Z as well, and its output is written to the terminal as it is. The exit code is that of the shell. It ends when acs ends.',
      'stdin and stdout must be a terminal; elsewhere use `acs sandbox exec`.',
    ],
    exits: ['not-found', 'conflict', 'unsupported', 'interrupted'],
    examples: [
      { command: 'acs sandbox shell @last', does: 'open a shell in the last sandbox' },
      { command: 'acs sandbox shell @last --resume', does: 'the same, starting a paused sandbox first' },
    ],
  });
  command.action((id: string, options: ShellOptions) => openShell(id, options, ctx));
}

export async function openShell(word: string, { resume }: ShellOptions, ctx: Context): Promise<void> {
  const { stdin, stdout } = ctx.io;
  ctx.out.check(null, 'raw');
  if (ctx.globals.output !== undefined) throw new AppError('usage', 'a shell has no --output');
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new AppError('usage', 'a shell needs a terminal, and stdin or stdout is none', {
      hint: 'run a program instead: acs sandbox exec -i <id> -- sh',
    });
  }
  checkWord(sandboxes, word);
  const server = await ctx.server();
  requireSocket(server, 'open a shell in a sandbox');
  const { id } = await findRunning(ctx, server, word, { resume, command: (id) => `acs sandbox shell ${id}` });
  const controls = createControls(ctx.signal, 'kill');
  const connected = await server.withSignal(new AbortController().signal);
  const stopResizing = stdout.onResize?.(() => controls.send({ type: 'resize', size: sizeOf(stdout) }));
  const leaveRawMode = ctx.globals.mode === 'live' ? stdin.rawMode?.() : undefined;
  try {
    const env = { TERM: ctx.env.TERM ?? 'xterm' };
    const exitCode = await connected.sandboxes.exec(
      id,
      { argv: null, cwd: null, env, terminal: sizeOf(stdout) },
      {
        stdin: stdin.raw as AsyncIterable<Uint8Array>,
        output: (_stream, bytes) => stdout.write(bytes),
        onControl: controls.listen,
      },
    );
    ctx.signal.throwIfAborted();
    ctx.exitCode = exitCode;
  } finally {
    leaveRawMode?.();
    stopResizing?.();
    controls.close();
  }
}
