import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { SandboxStatus } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError, isAppError, READER_GONE } from '../../errors.ts';
import { withinDeadline, type TimedContext } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { withPausedOthers } from '../paused-others.ts';
import { resumeSandbox } from './resume.ts';
import { addWaitTimeout, checkLimitWithoutNoWait, limitsOf, type WaitOptions } from '../wait-limit.ts';
import { waitForStatusWithProgress } from './wait-for-status.ts';
import { sandboxView } from './view.ts';

interface StartOptions extends WaitOptions {
  spec?: string;
}

export function declareStart(parent: Command, ctx: Context): void {
  const command = parent.command('start').description('create a sandbox, or resume an existing one');
  command
    .argument('[id]', 'an existing sandbox to resume')
    .option('--spec <id>', 'create it from this spec (acs specs list); an existing sandbox must have it')
    .option('--wait', 'return when it is running (default)')
    .option('--no-wait', 'return as soon as the server has accepted the request');
  addWaitTimeout(command);
  explain(command, {
    json: ({ objectForm }) => [objectForm(sandboxView, 'changed')],
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'unknown-outcome', 'timeout'],
    examples: [
      {
        command: 'acs sandbox start --json',
        does: 'create a sandbox from the default spec and print it when it is running',
      },
      { command: 'acs sandbox start --spec process --no-wait -q', does: 'create a sandbox and print its id at once' },
    ],
  });
  command.action((id: string | undefined, options: StartOptions) => startSandbox(id, options, ctx));
}

export async function startSandbox(id: string | undefined, options: StartOptions, ctx: Context): Promise<void> {
  checkLimitWithoutNoWait(options);
  if (id === undefined) {
    ctx.out.check(sandboxView, 'item');
    return await withinDeadline(ctx, limitsOf(ctx, options), (timed) =>
      withPausedOthers(timed, () => createSandbox(options, timed)),
    );
  }
  await resumeSandbox(id, options, ctx);
}

async function createSandbox(options: StartOptions, ctx: TimedContext): Promise<void> {
  const server = await ctx.server();
  const created = await server.sandboxes.create(options.spec ?? null).catch((error: unknown) => {
    throw ctx.deadline.isOver(error) ? maybeCreated(error as AppError) : error;
  });
  if (options.wait === false) return await ctx.out.item(sandboxView, created, { changed: true });
  try {
    const sandbox = await waitForStatusWithProgress(ctx, { server, id: created.id, wanted: ['running', 'paused'] });
    await ctx.out.item(sandboxView, sandbox, { changed: true });
  } catch (error) {
    throw isAppError(error) && error.exitCode !== READER_GONE ? await afterCreation(ctx, created, error) : error;
  }
}

function maybeCreated({ message, details }: AppError): AppError {
  return new AppError('timeout', `${message}; whether the sandbox was created is not known`, {
    ...details,
    hint: 'list the sandboxes: acs sandbox list',
  });
}

/** The sandbox exists although the wait has ended: its record is printed, and the error names its id. */
async function afterCreation(ctx: Context, created: Sandbox, error: AppError): Promise<AppError> {
  const { last_status: last } = error.details.data ?? {};
  const status = typeof last === 'string' ? (last as SandboxStatus) : created.status;
  await ctx.out.item(sandboxView, { ...created, status }, { changed: true });
  await ctx.out.close();
  const { id } = created;
  if (error.kind !== 'interrupted') return error;
  return new AppError(error.kind, `${error.message}; sandbox ${id} keeps running`, {
    ...error.details,
    exitCode: error.exitCode,
    hint: `wait for it: acs sandbox wait ${id}   delete it: acs sandbox delete ${id}`,
    data: { id },
  });
}
