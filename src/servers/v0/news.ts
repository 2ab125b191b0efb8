/**
 * The state of a V0 run, read from its events because the record does not have it (interface 3.4): everything since
 * the latest user message counts. Repeated reads request only new events.
 */
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { Links } from '../links.ts';
import { eventPagesBackwardV0, eventsForwardV0 } from './calls.ts';
import { agentStateOf, answerOfV0, costOf, isUserMessage, type RunNews } from './records.ts';

/** A run may be long: no more than this many events are read. */
const MOST_READ = 400;
/** The last state of a stopped conversation is the stop; the end of its run is an earlier one. */
const PASSED_OVER = new Set(['stopped', 'loading', 'init']);

/** One read of the newest events. */
export async function readNews(links: Links, info: ConversationInfo): Promise<RunNews> {
  return await createNewsReader(links).read(info);
}

export interface NewsReader {
  /** The first time from the newest events; then from those with a higher number than any read before. */
  read(info: ConversationInfo): Promise<RunNews>;
  /** Number behind the last event read; null before the first read. */
  readonly next: number | null;
}

/** @param onNew called with each event that came after the first read, in order, once */
export function createNewsReader(links: Links, onNew: (event: EventRecordV0) => void = () => undefined): NewsReader {
  const run = createRun();
  let next: number | null = null;
  return {
    get next() {
      return next;
    },
    async read(info) {
      if (next === null) {
        const newest = await readNewest(links, info);
        for (const event of newest) run.take(event);
        next = (newest.at(-1)?.id ?? -1) + 1;
        return run.news(info.status);
      }
      for await (const event of eventsForwardV0(links, info, next)) {
        if (event.id < next) continue;
        run.take(event);
        onNew(event);
        // Passed on at once: events before a cut are not read again.
        next = event.id + 1;
      }
      return run.news(info.status);
    },
  };
}

/** Oldest first, back to the page with the user's latest message where that is within the limit. */
async function readNewest(links: Links, info: ConversationInfo): Promise<EventRecordV0[]> {
  const newestFirst: EventRecordV0[] = [];
  for await (const page of eventPagesBackwardV0(links, info)) {
    newestFirst.push(...page);
    if (page.some(isUserMessage) || newestFirst.length >= MOST_READ) break;
  }
  return newestFirst.reverse();
}

interface Run {
  /** Events oldest first. */
  take(event: EventRecordV0): void;
  /** @param status the word of the record */
  news(status: string): RunNews;
}

type Spent = Pick<RunNews, 'cost' | 'tokens'>;
const UNKNOWN: Spent = { cost: null, tokens: null };

type State = NonNullable<ReturnType<typeof agentStateOf>>;

function createRun(): Run {
  let newest: State | null = null;
  /** As `newest`, without the states of a stop or a start. */
  let newestOfRun: State | null = null;
  let answered: RunNews['answered'] = 'no';
  let spent: Spent = UNKNOWN;
  /** A restarted agent continues its count from the stored one, which may be lower than the actual cost. */
  let isCountLost = false;
  return {
    take(event) {
      const state = agentStateOf(event);
      if (state !== null) {
        newest = state;
        if (!PASSED_OVER.has(state.state)) newestOfRun = state;
      }
      const cost = costOf(event);
      if (cost !== null) {
        isCountLost ||= (cost.cost ?? 0) < (spent.cost ?? 0);
        spent = cost;
      }
      // A text of the agent before its action was rejected is not an answer.
      if (event.observation === 'user_rejected') answered = 'no';
      if (answerOfV0(event) !== null) answered = 'yes';
      if (!isUserMessage(event)) return;
      // Earlier events belong to an older message.
      newest = newestOfRun = null;
      answered = 'no';
    },
    news(status) {
      const state = status.toUpperCase() === 'RUNNING' ? newest : (newestOfRun ?? newest);
      return {
        agentState: state?.state ?? null,
        reason: state?.reason ?? '',
        answered,
        ...(isCountLost ? UNKNOWN : spent),
      };
    },
  };
}
