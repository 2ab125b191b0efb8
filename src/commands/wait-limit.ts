/** `--wait-timeout` and its alias `--timeout`: the deadline of a command that waits. */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import { limitsAfter, type Limits } from '../runs/deadline.ts';
import { duration } from './option-parsers.ts';

const OFF_TERMINAL_WAIT_MS = 3_600_000;

export interface WaitOptions {
  /** False with --no-wait. */
  wait?: boolean;
  waitTimeout?: number;
  timeout?: number;
}

/** @param effect what the limit does, for the help */
export function addWaitTimeout(
  command: Command,
  effect = 'stop waiting after this time (default 1h off a terminal)',
): Command {
  return command
    .option('--wait-timeout <duration>', effect, duration)
    .addOption(command.createOption('--timeout <duration>', 'same as --wait-timeout').argParser(duration).hideHelp());
}

/**
 * For a command that does not always wait.
 * @param why what follows the flag in the error: `needs --wait`
 * @throws usage for a limit without the wait: it would have no effect
 */
export function checkLimitHasWait({ waitTimeout, timeout }: WaitOptions, waits: boolean, why: string): void {
  if (waits || (waitTimeout ?? timeout) === undefined) return;
  throw new AppError('usage', `${waitTimeout === undefined ? '--timeout' : '--wait-timeout'} ${why}`);
}

/** As checkLimitHasWait, for a command that waits unless --no-wait is given. */
export function checkLimitWithoutNoWait(options: WaitOptions): void {
  checkLimitHasWait(options, options.wait !== false, 'and --no-wait exclude each other');
}

/** From now on; no limit on a terminal, where a person sees that it takes long. */
export function limitsOf(ctx: Context, { waitTimeout, timeout }: WaitOptions): Limits {
  return limitsAfter(
    ctx,
    waitTimeout ?? timeout ?? (ctx.offTerminal ? OFF_TERMINAL_WAIT_MS : Number.POSITIVE_INFINITY),
  );
}
