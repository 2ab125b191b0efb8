import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { explain } from '../shared/declare.ts';
import { positiveInteger } from '../shared/option-parsers.ts';
import { addWaitTimeout, checkLimitHasWait, type WaitOptions } from '../shared/wait-limit.ts';
import { outcomeView } from './conversations.ts';
import { eventView } from './event-view.ts';
import { openConversation } from './find-conversation.ts';
import {
  addFilterOptions,
  EventFilter,
  followConversation,
  readSince,
  readTail,
  type FilterOptions,
} from './follow.ts';

interface EventsOptions extends FilterOptions, WaitOptions {
  follow?: boolean;
  limit?: number;
}

/** Formats in which a part looks as it does in the whole: a long history is written by page. */
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
    examples: {
      'acs conv events @last --tail 5': 'print the newest five events of the last conversation',
      'acs conv events @last --source agent --format ndjson': 'print those of the agent as JSON',
    },
  });
  command.action((id: string, options: EventsOptions) =>
    options.follow ? followConversation(id, options, ctx) : printEvents(id, options, ctx),
  );
}

async function printEvents(word: string, options: EventsOptions, ctx: Context): Promise<void> {
  ctx.out.check(eventView(null), 'list');
  ctx.out.page();
  checkLimitHasWait(options, false, 'needs --follow');
  const since = readSince(ctx, options);
  const { server, conversation } = await openConversation(ctx, word);
  const view = eventView(conversation.created_at);
  const { tail, limit = Number.POSITIVE_INFINITY } = options;
  const filter = new EventFilter(options);
  if (tail !== undefined) {
    const { events } = await readTail(server, conversation, tail, filter);
    await ctx.out.list(view, events.slice(0, limit), { has_more: events.length > limit });
    return events.length < tail ? await filter.noticeMissing(ctx) : undefined;
  }
  const isStreamed = STREAMED.has(ctx.out.format);
  const kept: ConversationEvent[] = [];
  let left = limit;
  let hasMore = false;
  const pages = server.conversations.eventPages(conversation, {
    order: 'oldest-first',
    ...(since?.kind === 'time' && { since: since.time }),
  });
  for await (const page of since?.kind === 'event' ? pagesAfter(pages, since.id) : pages) {
    const matching = page.filter((event) => filter.matches(event));
    const events = matching.slice(0, left);
    left -= events.length;
    if (isStreamed) await ctx.out.lines(view, events);
    else kept.push(...events);
    hasMore = events.length < matching.length;
    if (hasMore) break;
  }
  if (!isStreamed) await ctx.out.list(view, kept, { has_more: hasMore });
  if (!hasMore) return await filter.noticeMissing(ctx);
  await ctx.notice('more results are available: use a higher --limit, or omit it');
}

/** Throws `not-found` when no page has the event. */
async function* pagesAfter(
  pages: AsyncIterable<ConversationEvent[]>,
  id: string,
): AsyncGenerator<ConversationEvent[], void, void> {
  const plainId = (text: string): string => text.toLowerCase().replaceAll('-', '');
  let isAfter = false;
  for await (const page of pages) {
    const index: number = isAfter
      ? -1
      : page.findIndex((event) => plainId(event.id) === plainId(id));
    if (isAfter || index !== -1) yield page.slice(index + 1);
    isAfter ||= index !== -1;
  }
  if (!isAfter) throw new AppError('not-found', `there is no event ${id} in this conversation`);
}
