/** Events of V0 (interface 3.4), and the state of the run since the latest user message. */
import { roundedUsd } from '../../domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../domain/event.ts';
import { eventText } from '../../domain/event-payload.ts';
import { normalizeTime } from '../../base/text/time.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import type { Redaction } from '../http/redaction.ts';
import type { Links } from '../shared/links.ts';
import { eventPagesV0, eventsV0 } from './calls.ts';
import { createPendingWatch } from './quirks/forgotten-confirmation-v0.ts';
import type { RunNews } from './records.ts';

export function toEventV0(
  record: EventRecordV0,
  conversationId: string,
  redaction: Redaction,
): ConversationEvent {
  const payload = redaction.part(record.payload);
  const kind = kindOf(record);
  const text = eventText(kind, payload);
  const event: ConversationEvent = {
    type: 'event',
    id: String(record.id),
    conversation_id: conversationId,
    timestamp: normalizeTime(record.timestamp),
    source: record.source,
    kind,
    text,
    payload,
    signal: signalOf(record),
  };
  return redaction.mark(event, [conversationId, record.source ?? '', kind, text]);
}

/** Agent states (interface 3.4) other than `status:other`. */
const STATE_SIGNALS: Readonly<Record<string, RunSignal>> = {
  running: 'status:running',
  loading: 'status:starting',
  user_rejected: 'status:rejected',
  awaiting_user_input: 'status:awaiting-user',
};

function signalOf(record: EventRecordV0): RunSignal | null {
  if (isUserMessage(record)) return 'message';
  const state = agentStateOf(record)?.state.toLowerCase();
  if (state !== undefined) return STATE_SIGNALS[state] ?? 'status:other';
  // The source of this observation is the agent.
  if (record.observation === 'user_rejected') return 'rejection';
  return record.source === 'agent' ? 'activity' : null;
}

function kindOf({ action, observation }: EventRecordV0): string {
  if (action !== null) return `action:${action}`;
  return observation === null ? 'unknown' : `observation:${observation}`;
}

export function agentStateOf({
  observation,
  payload,
}: EventRecordV0): { state: string; reason: string } | null {
  const extras = isRecord(payload['extras']) ? payload['extras'] : {};
  const { agent_state: state, reason } = extras;
  if (observation !== 'agent_state_changed' || typeof state !== 'string') return null;
  return { state, reason: typeof reason === 'string' ? reason : '' };
}

export function answerOfV0({ source, action, payload }: EventRecordV0): string | null {
  if (source !== 'agent') return null;
  const args = isRecord(payload['args']) ? payload['args'] : {};
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
  if (action === 'message') return text(args['content']);
  return action === 'finish' ? (text(args['final_thought']) ?? text(payload['message'])) : null;
}

export function isUserMessage({ action, source }: EventRecordV0): boolean {
  return action === 'message' && source === 'user';
}

function costOf({ payload }: EventRecordV0): Pick<RunNews, 'cost' | 'tokens'> | null {
  const metrics = payload['llm_metrics'];
  if (!isRecord(metrics) || typeof metrics['accumulated_cost'] !== 'number') return null;
  const usage = isRecord(metrics['accumulated_token_usage'])
    ? metrics['accumulated_token_usage']
    : {};
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const tokens = typeof input === 'number' && typeof output === 'number' ? { input, output } : null;
  return { cost: roundedUsd(metrics['accumulated_cost']), tokens };
}

export const WAITING = 'awaiting_user_confirmation';
const MOST_READ = 400;
/** The last state of a stopped conversation is the stop; the end of its run is an earlier one. */
const NOT_OF_RUN = new Set(['stopped', 'loading', 'init']);
const NO_STATE = { state: null, reason: '' };
const UNKNOWN: Pick<RunNews, 'cost' | 'tokens'> = { cost: null, tokens: null };

export async function readNews(links: Links, info: ConversationInfo): Promise<RunNews> {
  return await new NewsReader(links).read(info);
}

async function sinceMessage(links: Links, info: ConversationInfo): Promise<EventRecordV0[]> {
  const events: EventRecordV0[] = [];
  for await (const page of eventPagesV0(links, info, null)) {
    events.push(...page);
    if (page.some(isUserMessage) || events.length >= MOST_READ) break;
  }
  return events;
}

export class NewsReader {
  first: EventRecordV0[] | null = null;
  next = 0;
  readonly #links: Links;
  readonly #onNew: (event: EventRecordV0) => void;
  #newest: { state: string | null; reason: string } = NO_STATE;
  #newestOfRun: ReturnType<typeof agentStateOf> = null;
  #answered = false;
  readonly #watchPending = createPendingWatch();
  #isPending = false;
  #spent = UNKNOWN;
  /** A restarted agent continues its count from a stored one, which may be too low. */
  #isCountLost = false;

  constructor(links: Links, onNew: (event: EventRecordV0) => void = () => undefined) {
    this.#links = links;
    this.#onNew = onNew;
  }

  async read(info: ConversationInfo): Promise<RunNews> {
    const isFirst = this.first === null;
    const events = isFirst
      ? (this.first = await sinceMessage(this.#links, info)).toReversed()
      : eventsV0(this.#links, info, this.next);
    for await (const event of events) {
      if (event.id < this.next) continue;
      // Passed on at once: events before a cut are not read again.
      this.#take(event);
      if (!isFirst) this.#onNew(event);
    }
    const state =
      info.status.toUpperCase() === 'RUNNING' ? this.#newest : (this.#newestOfRun ?? this.#newest);
    return {
      agentState: this.#isPending ? WAITING : state.state,
      reason: state.reason,
      answered: this.#answered,
      ...(this.#isCountLost ? UNKNOWN : this.#spent),
    };
  }

  #take(event: EventRecordV0): void {
    this.next = event.id + 1;
    const state = agentStateOf(event);
    this.#isPending = this.#watchPending(event, state?.state ?? null);
    if (state !== null) {
      this.#newest = state;
      if (!NOT_OF_RUN.has(state.state)) this.#newestOfRun = state;
    }
    const cost = costOf(event);
    if (cost !== null) {
      this.#isCountLost ||= (cost.cost ?? 0) < (this.#spent.cost ?? 0);
      this.#spent = cost;
    }
    // A text of the agent before its action was rejected is not an answer.
    if (event.observation === 'user_rejected') this.#answered = false;
    if (answerOfV0(event) !== null) this.#answered = true;
    if (!isUserMessage(event)) return;
    this.#newest = NO_STATE;
    this.#newestOfRun = null;
    this.#answered = false;
  }
}
