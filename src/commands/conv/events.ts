import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { explain } from '../shared/declare.ts';
import { positiveInteger } from '../shared/option-parsers.ts';
import { checkWord } from '../shared/resource.ts';
import { addWaitTimeout, checkLimitHasWait, type WaitOptions } from '../shared/wait-limit.ts';
import { conversations, findStarted, outcomeView } from './conversations.ts';
import { eventView } from './event-view.ts';
import {
  addFilterOptions,
  eventTest,
  followConversation,
  readSince,
  readTail,
  type FilterOptions,
} from './follow.ts';

interface EventsOptions extends FilterOptions, WaitOptions {
  follow?: boolean;
  limit?: number;
}

/**
 * Formats in which a part of a list is the same with the rest or without: a long history is written
 * page by page.
 */
const STREAMED: ReadonlySet<string> = new Set(['ndjson', 'tsv', 'id']);

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .option('-f, --follow', 'continue until the run ends, as `conv follow` does')
    .option('-L, --limit <n>', 'print at most this many events (default: all)', positiveInteger);
  addWaitTimeout(addFilterOptions(command), 'with --follow: stop waiting after this time');
  explain(command, {
    json: ({ listForm, objectForm }) => [
      ['--json', listForm(eventView(null))],
      ['--format ndjson or --follow', `${objectForm(eventView(null))}, one a line`],
      ['last, with --follow', objectForm(outcomeView)],
    ],
    exits: ['not-found', 'conflict'],
    examples: [
      {
        command: 'acs conv events @last --tail 5',
        does: 'print the newest five events of the last conversation',
      },
      {
        command: 'acs conv events @last --source agent --format ndjson',
        does: 'print those of the agent as JSON',
      },
    ],
  });
  command.action((id: string, options: EventsOptions) =>
    options.follow ? followConversation(id, options, ctx) : printEvents(id, options, ctx),
  );
}

async function printEvents(given: string, options: EventsOptions, ctx: Context): Promise<void> {
  const view = eventView(null);
  ctx.out.check(view, 'list');
  ctx.out.page();
  checkLimitHasWait(options, false, 'needs --follow');
  checkWord(conversations, given);
  const since = readSince(ctx, options);
  const server = await ctx.servers.active();
  const { id } = await findStarted(ctx, server, given);
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  const wanted = eventTest(options);
  if (options.tail !== undefined) {
    const { events } = await readTail(server, id, options.tail, wanted);
    await ctx.out.list(view, events.slice(0, limit), { has_more: events.length > limit });
    return events.length < options.tail ? await wanted.noticeMissing(ctx) : undefined;
  }
  const isStreamed = STREAMED.has(ctx.out.format);
  const kept: ConversationEvent[] = [];
  let left = limit;
  let hasMore = false;
  /** The event to print after, until it has come. */
  let after = since?.kind === 'event' ? plainId(since.id) : null;
  const from = since?.kind === 'time' ? { since: since.time } : {};
  for await (let page of server.conversations.eventPages(id, { order: 'oldest-first', ...from })) {
    if (after !== null) {
      const index = page.findIndex((event) => plainId(event.id) === after);
      if (index === -1) continue;
      after = null;
      page = page.slice(index + 1);
    }
    const matching = page.filter(wanted);
    const events = matching.slice(0, left);
    left -= events.length;
    if (isStreamed) await ctx.out.lines(view, events);
    else kept.push(...events);
    hasMore = events.length < matching.length;
    if (hasMore) break;
  }
  if (after !== null)
    throw new AppError('not-found', `there is no event ${options.since} in this conversation`);
  if (!isStreamed) await ctx.out.list(view, kept, { has_more: hasMore });
  if (!hasMore) return await wanted.noticeMissing(ctx);
  await ctx.notice('more results are available: use a higher --limit, or omit it');
}

function plainId(id: string): string {
  return id.toLowerCase().replaceAll('-', '');
}
