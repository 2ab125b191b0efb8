import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES, type SandboxStatus } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { bulkShape } from '../../output/bulk.ts';
import type { BulkItem } from '../../output/bulk.ts';
import { failedItem } from '../bulk.ts';
import { explain } from '../declare.ts';
import { someOf } from '../option-parsers.ts';
import { WORST_CODE_ORDER, waitForRecords, type Waited, type WaitVerb } from '../resource/wait.ts';
import { addWaitTimeout, type WaitOptions } from '../wait-limit.ts';
import { gone, sandboxes } from './sandboxes.ts';
import { sandboxView } from './view.ts';
import { unanswered, waitForStatusWithProgress } from './wait-for-status.ts';

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
      `With several ids the worst code is used, in this order: ${WORST_CODE_ORDER}. An id that cannot be read does not end the wait for the others.`,
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
  command.action((ids: string[], options: WaitForOptions) =>
    waitForRecords(ctx, waitVerb(options.for ?? ['running', 'paused']), ids, options),
  );
}

function waitVerb(wanted: readonly SandboxStatus[]): WaitVerb<Sandbox, Sandbox> {
  return {
    resource: sandboxes,
    view: sandboxView,
    many: 'bulk',
    async waitFor(ctx, server, { id }) {
      const result = await waitForStatusWithProgress(ctx, { server, id, wanted });
      return { id, result, failure: null };
    },
    unfound: (word, waitMs) => ({ id: word, result: null, failure: unanswered(word, null, waitMs) }),
    ifMissing: (word) => (wanted.includes('missing') ? gone(word) : undefined),
    async printAll(ctx, waited) {
      const items = waited.map(bulkItem);
      await ctx.out.bulk({ items, matched: items.length, failed: items.filter(({ ok }) => !ok).length });
    },
    exitCodeOf: () => 0,
    endAs: () => Promise.resolve(),
  };
}

function bulkItem({ id, result, failure }: Waited<Sandbox>): BulkItem {
  if (failure !== null) return failedItem(id, failure);
  return { id, ok: true, changed: false, before: null, after: result?.status ?? null, error: null };
}
