import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { checkIdWord } from '../ids.ts';
import { positiveInteger } from '../options.ts';
import { eventTest, isSameEvent, readSince, type Since } from './event-filter.ts';
import { eventView } from './event-view.ts';
import { addFollowOptions, followConversation, type FollowOptions } from './follow.ts';
import { findStarted } from './started.ts';
import { readTail } from './tail.ts';
import { EVENT_JSON, OUTCOME_JSON } from './view.ts';
import { checkLimitHasWait } from './waiting.ts';

export interface EventsOptions extends FollowOptions {
  follow?: boolean;
  limit?: number;
}

export function declareEvents(parent: Command, ctx: Context): void {
  const command = parent.command('events').alias('logs').description('print what happened in a conversation');
  command
    .argument('<id>', 'the conversation')
    .option('-f, --follow', 'go on with what happens, until the run ends: the same as follow')
    .option('-L, --limit <n>', 'at most this many (default: all)', positiveInteger);
  addFollowOptions(command);
  explain(command, {
    json: [
      `{"items":[${EVENT_JSON}],"has_more":false}`,
      `${EVENT_JSON}   one a line, with --format ndjson or --follow`,
      `${OUTCOME_JSON}   last, with --follow`,
    ],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs conv events @last --tail 5', does: 'the newest five events of the last conversation' },
      {
        command: 'acs conv events @last --source agent --format ndjson',
        does: 'what the agent did, one JSON object a line',
      },
    ],
  });
  command.action((id: string, options: EventsOptions) =>
    options.follow ? followConversation(id, options, ctx) : printEvents(id, options, ctx),
  );
}

export async function printEvents(word: string, options: EventsOptions, ctx: Context): Promise<void> {
  const view = eventView(null);
  ctx.out.check(view, 'list');
  checkLimitHasWait(options, false, '--follow');
  checkIdWord(word);
  const since = readSince(ctx, options);
  const server = await ctx.server();
  const { id } = await findStarted(ctx, server, word);
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  if (options.tail !== undefined) {
    const tail = await readTail(server, id, { ...options, tail: options.tail });
    return await ctx.out.list(view, tail.slice(0, limit), { has_more: tail.length > limit });
  }
  const events: ConversationEvent[] = [];
  let hasMore = false;
  const isStream = ctx.out.format === 'ndjson';
  let count = 0;
  for await (const event of wantedEvents(server, id, since, options)) {
    if (count >= limit) {
      hasMore = true;
      break;
    }
    count += 1;
    // A long history goes out as it is read, so that `| head` ends the reading.
    if (isStream) await ctx.out.line(view, event);
    else events.push(event);
  }
  if (!isStream) await ctx.out.list(view, events, { has_more: hasMore });
  if (hasMore) await ctx.notice(`there are more than ${limit} events: use a higher -L, or leave it out`);
}

async function* wantedEvents(
  server: Server,
  id: string,
  since: Since,
  options: EventsOptions,
): AsyncGenerator<ConversationEvent> {
  const wanted = eventTest(options);
  let isReached = since?.kind !== 'event';
  const query = { order: 'oldest-first' as const, ...(since?.kind === 'time' ? { since: since.time } : {}) };
  for await (const event of server.conversations.events(id, query)) {
    if (isReached && wanted(event)) yield event;
    if (!isReached && since?.kind === 'event' && isSameEvent(since.id, event)) isReached = true;
  }
  if (!isReached && since?.kind === 'event') {
    throw new AppError('not-found', `there is no event ${since.id} in this conversation`);
  }
}
