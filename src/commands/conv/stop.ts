import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, NO_STATUS, type Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { hasEnded, hasStopped, isRunInProgress, isUnknown } from '../../runs/status.ts';
import type { Server } from '../../servers/server.ts';
import type { Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { addChoice, changeRecords, type ChangeOptions, type Verb } from '../resource/change.ts';
import type { Target } from '../resource/resource.ts';
import { conversations } from './conversations.ts';
import { staysWaiting } from '../../runs/endings.ts';
import { conversationView, idOf } from './view.ts';

const STOP_MS = 60_000;

const stop: Verb<Context, Conversation, ChangeOptions> = {
  resource: conversations,
  word: 'stop',
  pastTense: 'stopped',
  apply: stopOne,
};

export function declareStop(parent: Command, ctx: Context): void {
  const command = parent.command('stop').description('stop runs; files are kept, and `conv send` continues the run');
  addChoice(command, conversations, CONVERSATION_STATUSES);
  explain(command, {
    notes: [
      'A conversation that is not running is left unchanged: exit 0, "changed":false.',
      'On V1 a conversation that waits for a confirmation is left unchanged too; it does not run until the confirmation is answered.',
    ],
    json: ({ changeForms }) => changeForms(conversationView),
    exits: ['failed', 'not-found', 'conflict', 'timeout'],
    examples: [
      { command: 'acs conv stop @last', does: 'stop the last conversation' },
      {
        command: 'acs conv stop --status running --older-than 2h -y',
        does: 'stop running conversations created at least two hours ago',
      },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => changeRecords(ctx, stop, ids, options));
}

/** Stops the run, and waits until it has stopped; `changed` is false where none was in progress. */
export async function stopOne(
  ctx: Context,
  { server, seen }: Pick<Target<Conversation>, 'server' | 'seen'>,
): Promise<Change<Conversation>> {
  if (seen.id === '') throw new AppError('conflict', `start task ${idOf(seen)} has not started its conversation yet`);
  // A run whose status is not known may be in progress.
  const mayRun = isRunInProgress(seen) || isUnknown(seen.status);
  if (!mayRun) return { changed: false, before: seen.status, after: seen.status, record: seen };
  await server.conversations.stop(seen.id);
  const record = await untilStill(ctx, server, seen.id);
  // A V1 server takes this and changes nothing: only what runs can be paused there.
  const stays = seen.status === 'waiting' && record.status === 'waiting';
  if (stays) await ctx.notice(`${staysWaiting(seen.id)}; answer it: acs conv confirm ${seen.id} --reject`);
  // A run that ended by itself before the server acted on the stop was not stopped.
  const changed = !stays && !hasEnded(record.status);
  return { changed, before: seen.status, after: record.status, record };
}

/** The server has accepted the stop; the current step may still have to end. */
async function untilStill(ctx: Context, server: Server, id: string): Promise<Conversation> {
  const { clock, signal } = ctx;
  let last: Conversation | null = null;
  const still = async (): Promise<Conversation | undefined> => {
    last = await server.conversations.getComplete(id);
    return hasStopped(last.status) ? last : undefined;
  };
  const conversation = await poll(still, { clock, signal, every: STEADY, until: clock.now() + STOP_MS });
  if (conversation !== undefined) return conversation;
  throw notStill(id, last);
}

function notStill(id: string, last: Conversation | null): AppError {
  const stands = last?.status === NO_STATUS ? 'its sandbox reports no status' : 'the run continues';
  return new AppError('timeout', `conversation ${id} was asked to stop, and ${stands}`, {
    hint: `the current step may take long; see: acs conv show ${id}`,
    data: { id, last_status: last?.status ?? null },
  });
}
