import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES, type SandboxStatus } from '../../domain/conversation.ts';
import { isAppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { collectList, invalidValue } from '../options.ts';
import { sandboxFinder } from './find.ts';
import { addWaitTimeout, gone, settle, waitDeadlineMs, type WaitOptions } from './settle.ts';
import { SANDBOX_JSON, sandboxView } from './view.ts';

interface WaitForOptions extends WaitOptions {
  for?: SandboxStatus[];
}

export function declareWait(parent: Command, ctx: Context): void {
  const command = parent.command('wait').description('wait until a sandbox is ready, or in a state');
  command
    .argument('<id>', 'the sandbox')
    .option('--for <status,…>', `until it is one of ${SANDBOX_STATUSES.join(', ')}`, readStatuses);
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'Without --for it waits until the sandbox is no longer starting; one that ends in an error is exit 1.',
      'A state that can no longer come ends the wait at once.',
    ],
    json: [SANDBOX_JSON],
    exits: ['failed', 'not-found', 'timeout'],
    examples: [
      {
        command: 'acs sandbox wait @last',
        does: 'returns when the sandbox of the last conversation runs or is paused',
      },
      {
        command: 'acs sandbox wait @last --for paused --wait-timeout 5m',
        does: 'exits 124 when it is not paused by then',
      },
    ],
  });
  command.action((id: string, options: WaitForOptions) => waitForSandbox(id, options, ctx));
}

export async function waitForSandbox(word: string, options: WaitForOptions, ctx: Context): Promise<void> {
  ctx.out.check(sandboxView, 'item');
  const server = await ctx.server();
  const wanted = options.for ?? ['running', 'paused'];
  const id = await idOf(word, wanted, ctx);
  if (id === null) return await ctx.out.item(sandboxView, gone(word));
  const progress = await ctx.progress(`sandbox ${id}: waiting until it is ${wanted.join(' or ')}`);
  try {
    const deadlineMs = waitDeadlineMs(ctx, options);
    const onStatus = (status: string) => progress.update(`sandbox ${id}: ${status}`);
    const sandbox = await settle(ctx, { server, id, wanted, deadlineMs, onStatus });
    await progress.done();
    await ctx.out.item(sandboxView, sandbox);
  } catch (error) {
    await progress.fail();
    throw error;
  }
}

/** Null for one that is gone already while that is what is waited for. */
async function idOf(word: string, wanted: readonly SandboxStatus[], ctx: Context): Promise<string | null> {
  try {
    return (await sandboxFinder(ctx, await ctx.server()).find(word)).id;
  } catch (error) {
    if (wanted.includes('missing') && isAppError(error) && error.kind === 'not-found') return null;
    throw error;
  }
}

function readStatuses(value: string, previous: SandboxStatus[] | undefined): SandboxStatus[] {
  return collectList(value.toLowerCase(), previous).map((word) => {
    const known = SANDBOX_STATUSES.find((status) => status === word);
    if (!known) throw invalidValue(`It must be one of ${SANDBOX_STATUSES.join(', ')}.`);
    return known;
  });
}
