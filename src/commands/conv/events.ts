import type { Command } from 'commander';
import type { Context, Format } from '../../context.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { positiveInteger } from '../option-parsers.ts';
import { eventTest, isSameEvent, readSince, type Since } from './event-filter.ts';
import { eventView } from './event-view.ts';
import { addFollowOptions, followConversation, type FollowOptions } from './follow.ts';
import { findStarted } from './started.ts';
import { readTail } from './tail.ts';
import { outcomeView } from './view.ts';
import { checkLimitHasWait } from '../wait-limit.ts';

export interface EventsOptions extends FollowOptions {
  follow?: boolean;
  limit?: number;
}

export function declareEvents(parent: Command, ctx: Context): void {
  const command = parent.command('events').alias('logs').description('print the events of a conversation');
  command
    .argument('<id>', 'the conversation')
    .option('-f, --follow', 'continue until the run ends, as `conv follow` does')
    .option('-L, --limit <n>', 'print at most this many events (default: all)', positiveInteger);
  addFollowOptions(command);
  explain(command, {
    json: ({ listForm, objectForm }) => [
      ['--json', listForm(eventView(null))],
      ['--format ndjson or --follow', `${objectForm(eventView(null))}, one a line`],
      ['last, with --follow', objectForm(outcomeView)],
    ],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs conv events @last --tail 5', does: 'print the newest five events of the last conversation' },
      {
        command: 'acs conv events @last --source agent --format ndjson',
        does: 'print the events of the agent, one JSON object a line',
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
  checkLimitHasWait(options, false, 'needs --follow');
  checkWord(conversations, word);
  const since = readSince(ctx, options);
  const server = await ctx.server();
  const { id } = await findStarted(ctx, server, word);
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  if (options.tail !== undefined) {
    const tail = await readTail(server, id, { ...options, tail: options.tail });
    return await ctx.out.list(view, tail.slice(0, limit), { has_more: tail.length > limit });
  }
  const kept: ConversationEvent[] = [];
  let hasMore = false;
  let left = limit;
  for await (const page of wantedEvents(server, id, since, options)) {
    const events = page.slice(0, left);
    left -= events.length;
    // A long history goes out page by page: it takes no memory, and `| head` ends the reading.
    if (isInParts(ctx.out.format)) await ctx.out.lines(view, events);
    else kept.push(...events);
    hasMore = events.length < page.length;
    if (hasMore) break;
  }
  if (!isInParts(ctx.out.format)) await ctx.out.list(view, kept, { has_more: hasMore });
  if (hasMore) await ctx.notice(`there are more than ${limit} events: use a higher -L, or leave it out`);
}

/** The formats in which a part of a list is the same with the rest or without. */
function isInParts(format: Format): boolean {
  return format === 'ndjson' || format === 'tsv' || format === 'id';
}

/** Page by page. */
async function* wantedEvents(
  server: Server,
  id: string,
  since: Since,
  options: EventsOptions,
): AsyncGenerator<ConversationEvent[], void, void> {
  const wanted = eventTest(options);
  let isReached = since?.kind !== 'event';
  const query = { order: 'oldest-first' as const, ...(since?.kind === 'time' ? { since: since.time } : {}) };
  for await (const page of server.conversations.eventPages(id, query)) {
    let events = page;
    if (!isReached && since?.kind === 'event') {
      const index = page.findIndex((event) => isSameEvent(since.id, event));
      if (index === -1) continue;
      isReached = true;
      events = page.slice(index + 1);
    }
    yield events.filter(wanted);
  }
  if (!isReached && since?.kind === 'event') {
    throw new AppError('not-found', `there is no event ${since.id} in this conversation`);
  }
}
