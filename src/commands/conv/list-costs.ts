import type { Context } from '../context.ts';
import type { Server } from '../../client/shared/server.ts';
import { mapConcurrently } from '../../base/concurrent.ts';
import { isOfKind } from '../../base/errors.ts';
import { formatUsd } from '../../base/text/usd.ts';
import { roundedUsd, type Conversation } from '../../domain/conversation.ts';
import { CONCURRENCY } from '../shared/bulk.ts';
import { withLateProgress } from '../shared/late-progress.ts';

/** The record is that of the server: a copy would be read again. */
export interface ListedConversation {
  conversation: Conversation;
  server: Server;
  profile: string | null;
}

interface Total {
  cost_usd: number;
  tokens: { input: number; output: number };
  /** Conversations whose cost is not known. */
  unknown: number;
}

const MOST_READ = 1_000;

/** Sets the cost and the tokens of the records that lack them. */
export async function readCosts(
  ctx: Context,
  listed: readonly ListedConversation[],
): Promise<Total> {
  const lacking = listed
    .filter(({ conversation: { id, cost_usd } }) => id !== '' && cost_usd === null)
    .slice(0, MOST_READ);
  const failures: string[] = [];
  await withLateProgress(ctx, 'reading costs', async (update) => {
    let begun = 0;
    await mapConcurrently(lacking, CONCURRENCY, async ({ conversation, server }) => {
      update(`cost ${++begun} of ${lacking.length}`);
      try {
        const { cost_usd, tokens } = await server.conversations.getComplete(conversation);
        Object.assign(conversation, { cost_usd, tokens });
      } catch (error) {
        if (!isOfKind('not-found', 'server')(error)) throw error;
        failures.push(error.message);
      }
    });
  });
  if (failures.length > 0) {
    const count = `${failures.length} of ${lacking.length}`;
    await ctx.warn(`${count} costs could not be read: ${failures[0]}`);
    ctx.exitCode = 1;
  }
  const conversations = listed.map(({ conversation }) => conversation);
  const sum = (numbers: (number | undefined)[]) =>
    numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
  const costs = conversations.flatMap(({ cost_usd }) => cost_usd ?? []);
  return {
    cost_usd: roundedUsd(sum(costs)),
    tokens: {
      input: sum(conversations.map(({ tokens }) => tokens?.input)),
      output: sum(conversations.map(({ tokens }) => tokens?.output)),
    },
    unknown: conversations.length - costs.length,
  };
}

export function totalLine({ cost_usd, tokens: { input, output }, unknown }: Total): string {
  const number = (count: number): string => count.toLocaleString('en-US');
  const cost = cost_usd === 0 && unknown > 0 ? '' : `${formatUsd(cost_usd)}, `;
  const used = `${cost}${number(input)} input and ${number(output)} output tokens`;
  return `total: ${used}${unknown === 0 ? '' : `; the cost of ${unknown} is not known`}`;
}
