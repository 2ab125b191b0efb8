import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES, type SandboxStatus } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { isAppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { changeEach, readIds } from '../bulk.ts';
import { withinDeadline, type TimedContext } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { bulkShape } from '../../output/bulk.ts';
import { someOf } from '../options.ts';
import { findOne } from '../resource/find.ts';
import { sandboxes } from './sandboxes.ts';
import { addWaitTimeout, limitsOf, type WaitOptions } from '../wait-limit.ts';
import { gone, settle, settleWithProgress, unanswered } from './settle.ts';
import { sandboxView } from './view.ts';

interface WaitForOptions extends WaitOptions {
  for?: SandboxStatus[];
}

export function declareWait(parent: Command, ctx: Context): void {
  const command = parent.command('wait').description('wait until sandboxes are ready, or have a status');
  command
    .argument('<id...>', 'sandboxes; - reads ids from stdin')
    .option(
      '--for <status,…>',
      `wait for one of these statuses: ${SANDBOX_STATUSES.join(', ')}`,
      someOf(SANDBOX_STATUSES),
    );
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'Without --for the command waits until the sandbox is no longer starting. A sandbox in error is exit code 1.',
      'The command returns at once when the status is no longer possible.',
      'With several ids the worst code is used, in this order: a signal, 124, 1, 5.',
    ],
    json: ({ objectForm }) => [
      ['one id', objectForm(sandboxView)],
      ['several ids', objectForm(bulkShape)],
    ],
    exits: ['failed', 'not-found', 'unsupported', 'timeout'],
    examples: [
      {
        command: 'acs sandbox wait @last',
        does: 'wait until the sandbox of the last conversation is running or paused',
      },
      {
        command: 'acs sandbox wait @last --for paused --wait-timeout 5m',
        does: 'exit 124 when it is not paused after five minutes',
      },
    ],
  });
  command.action((ids: string[], options: WaitForOptions) => waitForSandboxes(ids, options, ctx));
}

export async function waitForSandboxes(words: readonly string[], options: WaitForOptions, ctx: Context): Promise<void> {
  const isSingle = words.length === 1 && words[0] !== '-';
  ctx.out.check(sandboxView, isSingle ? 'item' : 'bulk');
  const ids = isSingle ? words : await readIds(ctx, words);
  await withinDeadline(ctx, limitsOf(ctx, options), async (timed) => {
    const [only = ''] = ids;
    if (!isSingle) await waitForEach(timed, ids, options);
    else await ctx.out.item(sandboxView, await waitForOne(timed, only, { ...options, company: 'alone' }));
  });
}

async function waitForEach(ctx: TimedContext, ids: readonly string[], options: WaitForOptions): Promise<void> {
  const server = await ctx.server();
  const codes: number[] = [];
  await changeEach(ctx, {
    targets: ids.map((id) => ({ id, server })),
    lost: [],
    past: 'waited for',
    waits: true,
    concurrency: ids.length,
    async apply({ id }) {
      try {
        const record = await waitForOne(ctx, id, { ...options, company: 'others' });
        return { changed: false, before: null, after: record.status, record };
      } catch (error) {
        if (isAppError(error)) codes.push(error.exitCode);
        throw error;
      }
    },
  });
  // A signal has set its own code.
  const isInterrupted = ctx.signal.aborted && !ctx.deadline.isOver(ctx.signal.reason);
  if (codes.length > 0 && !isInterrupted) ctx.exitCode = worst(codes);
}

/** As of several runs that are waited for: least bad first, what could not be seen at all behind them. */
const SEVERITY = [6, 5, 1, 124];

function worst(codes: readonly number[]): number {
  const rank = (code: number): number => (SEVERITY.includes(code) ? SEVERITY.indexOf(code) : SEVERITY.length);
  return codes.toSorted((one, other) => rank(other) - rank(one))[0] ?? 0;
}

async function waitForOne(
  ctx: TimedContext,
  word: string,
  { company, ...options }: WaitForOptions & { company: 'alone' | 'others' },
): Promise<Sandbox> {
  const wanted = options.for ?? ['running', 'paused'];
  const { deadline } = ctx;
  const server = await ctx.server().catch((error: unknown) => {
    throw deadline.isOver(error) ? unanswered(word, null, deadline.waitMs) : error;
  });
  const found = await idOf(ctx, server, word, wanted).catch(async (error: unknown) => {
    if (!deadline.isOver(error)) throw error;
    const id = await deadline.lastLook(server, async (awake, base) => ({ id: await idOf(base, awake, word, wanted) }));
    if (id === null) throw unanswered(word, null, deadline.waitMs);
    return id.id;
  });
  if (found === null) return gone(word);
  const settling = { server, id: found, wanted };
  return company === 'alone' ? await settleWithProgress(ctx, settling) : await settle(ctx, settling);
}

/** Null for one that is gone already while that is what is waited for. */
async function idOf(
  ctx: Context,
  server: Server,
  word: string,
  wanted: readonly SandboxStatus[],
): Promise<string | null> {
  try {
    return (await findOne(ctx, server, sandboxes, word)).id;
  } catch (error) {
    if (wanted.includes('missing') && isNotFound(error)) return null;
    throw error;
  }
}
