/** What the newest events of a V0 conversation tell about its run. */
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { Links } from '../links.ts';
import { eventsBackwardV0 } from './calls.ts';
import { agentStateOf, answerOfV0, costOf, isUserMessage, NO_NEWS, type RunNews } from './records.ts';

const MOST_READ = 400;
/** A conversation that is stopped says so last; how its run had ended is said before. */
const PASSED_OVER = new Set(['stopped', 'loading', 'init']);

export async function readNews(links: Links, info: ConversationInfo): Promise<RunNews> {
  const gather = createNewsGatherer(info.status);
  let read = 0;
  for await (const event of eventsBackwardV0(links, info, 50)) {
    if (gather.take(event) === 'enough' || ++read >= MOST_READ) break;
  }
  return gather.news();
}

interface NewsGatherer {
  /** Events newest first. */
  take(event: EventRecordV0): 'enough' | 'more';
  news(): RunNews;
}

function createNewsGatherer(status: string): NewsGatherer {
  const news: RunNews = { ...NO_NEWS, answered: 'no' };
  const running = status.toUpperCase() === 'RUNNING';
  let fallback: string | null = null;
  let rejected = false;
  return {
    take(event) {
      const state = agentStateOf(event);
      if (state !== null && news.agentState === null) {
        fallback ??= state.state;
        if (running || !PASSED_OVER.has(state.state))
          Object.assign(news, { agentState: state.state, reason: state.reason });
      }
      if (news.cost === null) Object.assign(news, costOf(event) ?? {});
      if (event.observation === 'user_rejected') rejected = true;
      // What the agent said before its action was rejected is no answer.
      if (answerOfV0(event) !== null && !rejected) news.answered = 'yes';
      if (!isUserMessage(event)) return 'more';
      // Older states belong to an older message.
      news.agentState ??= fallback;
      return 'enough';
    },
    news: () => ({ ...news, agentState: news.agentState ?? fallback }),
  };
}
