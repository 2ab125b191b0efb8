import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CONVERSATION_STATUSES, NO_STATUS, type Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { poll, STEADY, type PollOptions } from '../../runs/poll.ts';
import { hasEnded, hasStopped, isRunInProgress, isUnknown } from '../../runs/status.ts';
import type { Change } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { addChoice, changeRecords, type ChangeOptions } from '../shared/change.ts';
import type { Target } from '../shared/resource.ts';
import { staysWaiting } from '../../runs/outcome.ts';
import { conversations, conversationView, idOrTaskId } from './conversations.ts';

export function declare(command: Command, ctx: Context): void {
  addChoice(command, conversations, CONVERSATION_STATUSES);
  explain(command, {
    notes: [
      'A conversation that is not running is left unchanged: exit 0, "changed":false. On V1 ' +
        'a conversation that waits for a confirmation is also left unchanged: its run ' +
        'continues only after the answer.',
    ],
    json: ({ changeForms }) => changeForms(conversationView),
    exits: ['failed', 'not-found', 'conflict', 'unsupported', 'timeout'],
    examples: {
      'acs conv stop @last': 'stop the last conversation',
      'acs conv stop --status running --older-than 2h -y': 'stop those created 2 h ago or earlier',
    },
  });
  command.action((ids: string[], options: ChangeOptions) =>
    changeRecords<Context, Conversation, ChangeOptions>(
      ctx,
      { resource: conversations, word: 'stop', pastTense: 'stopped', apply: stopOne },
      ids,
      options,
    ),
  );
}

/** A server accepts a stop before the step has ended. At the end of `polling`, the last record. */
export async function untilStopped(
  { conversations: { getComplete } }: Server,
  seen: Conversation,
  polling: PollOptions & { until: number },
): Promise<Conversation> {
  let record = seen;
  const isStopped = async (): Promise<true | undefined> => {
    record = await getComplete(seen.id);
    return hasStopped(record.status) || undefined;
  };
  await poll(isStopped, polling);
  return record;
}

/** `changed` is false where no run was in progress. */
export async function stopOne(
  ctx: Context,
  { server, seen }: Pick<Target<Conversation>, 'server' | 'seen'>,
): Promise<Change<Conversation>> {
  const { id, status: before, sandbox_id } = seen;
  if (id === '')
    throw new AppError(
      'conflict',
      `start task ${idOrTaskId(seen)} has not started its conversation yet`,
      sandbox_id === null ? {} : { hint: `end the start: acs sandbox delete ${sandbox_id}` },
    );
  // A run whose status is not known may be in progress.
  if (!isRunInProgress(seen) && !isUnknown(before))
    return { changed: false, before, after: before, record: seen };
  await server.conversations.stop(id);
  const { clock, signal } = ctx;
  const record = await untilStopped(server, seen, {
    clock,
    signal,
    every: STEADY,
    until: clock.now() + 60_000,
  });
  if (!hasStopped(record.status)) {
    const state =
      record.status === NO_STATUS ? 'its sandbox reports no status' : 'the run continues';
    throw new AppError('timeout', `conversation ${id} was not stopped within 60 s: ${state}`, {
      hint: `the current step may take long; see: acs conv show ${id}`,
      data: { id, last_status: record.status },
    });
  }
  // A V1 server accepts the stop of a run that waits, and changes nothing.
  const isWaiting = before === 'waiting' && record.status === 'waiting';
  if (isWaiting)
    await ctx.notice(`${staysWaiting(id)}; answer it: acs conv confirm ${id} --reject`);
  // A run that ended by itself before the server acted on the stop was not stopped.
  return { changed: !isWaiting && !hasEnded(record.status), before, after: record.status, record };
}
