/** What the verbs that change sandboxes have in common: their flags, their deadline, and the protection of runs. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { withinDeadline, type TimedContext } from '../../runs/deadline.ts';
import { addChoice, changeRecords, type ChangeOptions, type ChangeRequest, type Verb } from '../resource/change.ts';
import { refuseRunsOf, runsIn } from '../resource/in-sandbox.ts';
import type { Target } from '../resource/resource.ts';
import { sandboxes } from './sandboxes.ts';
import { addWaitTimeout, checkLimitWithoutNoWait, limitsOf, type WaitOptions } from '../wait-limit.ts';
import { unanswered } from './wait-for-status.ts';

export type SandboxChangeOptions = ChangeOptions & WaitOptions;
export interface SandboxVerb extends Omit<Verb<TimedContext, Sandbox, SandboxChangeOptions>, 'resource'> {
  /** Surrounds the whole change. */
  around?(ctx: TimedContext, change: () => Promise<void>): Promise<void>;
}
export type SandboxRequest = ChangeRequest<Sandbox, SandboxChangeOptions>;

export function addChangeOptions(command: Command): Command {
  addChoice(command, sandboxes, SANDBOX_STATUSES)
    .option('--wait', 'return when the change is done (default)')
    .option('--no-wait', 'return as soon as the server has accepted the request');
  return addWaitTimeout(command);
}

export async function changeSandboxes(
  ctx: Context,
  verb: SandboxVerb,
  given: readonly string[],
  options: SandboxChangeOptions,
): Promise<void> {
  checkLimitWithoutNoWait(options);
  await withinDeadline(ctx, limitsOf(ctx, options), async (timed) => {
    const { deadline } = timed;
    const get: typeof sandboxes.get = async (server, id, seen) => {
      return await server.sandboxes.get(id).catch((error: unknown) => {
        throw deadline.isOver(error) ? unanswered(id, seen?.status ?? null, deadline.waitMs) : error;
      });
    };
    const change = () => changeRecords(timed, { ...verb, resource: { ...sandboxes, get } }, given, options);
    await (verb.around?.(timed, change) ?? change());
  });
}

/** Throws `conflict` for a sandbox with a run in progress, unless --force. */
export async function refuseRuns(
  verb: string,
  { server, id }: Target<Sandbox>,
  { force }: ChangeOptions,
): Promise<void> {
  if (force) return;
  refuseRunsOf(await runsIn(server, id), { sandboxId: id, verb, about: `sandbox ${id} has a run in progress` });
}
