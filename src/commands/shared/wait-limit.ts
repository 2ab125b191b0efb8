import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, type ErrorKind } from '../../base/errors.ts';
import { limitsAfter, type Limits } from '../../runs/deadline.ts';
import { duration } from './option-parsers.ts';

/** The kinds with which a command ends that waits for a run. */
export const RUN_EXITS: readonly ErrorKind[] = [
  'failed',
  'not-found',
  'conflict',
  'needs-input',
  'timeout',
  'interrupted',
];

export interface WaitOptions {
  wait?: boolean;
  waitTimeout?: number;
  timeout?: number;
}

export function addWaitTimeout(
  command: Command,
  effect = 'stop waiting after this time (default 1h outside a terminal)',
): Command {
  return command
    .option('--wait-timeout <duration>', effect, duration)
    .addOption(
      command
        .createOption('--timeout <duration>', 'same as --wait-timeout')
        .argParser(duration)
        .hideHelp(),
    );
}

/** Throws `usage` for a limit without a wait; `why` follows the flag: `needs --wait`. */
export function checkLimitHasWait(
  { waitTimeout, timeout }: WaitOptions,
  waits: boolean,
  why: string,
): void {
  if (waits || (waitTimeout ?? timeout) === undefined) return;
  throw new AppError(
    'usage',
    `${waitTimeout === undefined ? '--timeout' : '--wait-timeout'} ${why}`,
  );
}

export function checkLimitWithoutNoWait(options: WaitOptions): void {
  checkLimitHasWait(options, options.wait !== false, 'and --no-wait cannot be combined');
}

/** Counts from now on; no limit on a terminal. */
export function limitsOf(ctx: Context, { waitTimeout, timeout }: WaitOptions): Limits {
  const byDefaultMs = ctx.terminal.offTerminal ? 3_600_000 : Number.POSITIVE_INFINITY;
  const limits = limitsAfter(ctx, waitTimeout ?? timeout ?? byDefaultMs);
  ctx.out.deadlineMs = limits.deadlineMs;
  return limits;
}
