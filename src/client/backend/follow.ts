/** Record, events and socket come from one server: no copy is late, no sandbox is missing. */
import { isFailure, isOfKind, nullIf } from '../../base/errors.ts';
import type { Conversation, Reason } from '../../domain/conversation.ts';
import { textOf } from '../../domain/event-payload.ts';
import { normalId } from '../../domain/ids.ts';
import type { BackendConversationRecord } from '../../protocol/agent-server/records.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type {
  FollowItem,
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import { endOfStatus } from '../../runs/status.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { agentPages } from '../agent-server/events.ts';
import {
  executionStatusOf,
  isNoise,
  isUserMessage,
  reasonOfEvent,
  toEvent,
} from '../agent-server/event-records.ts';
import { PartialAnswer } from '../agent-server/partial-answer.ts';
import { openEventSocket } from '../agent-server/socket.ts';
import type { Links } from '../shared/links.ts';
import { agentOf, getRecord } from './calls.ts';
import { toConversation } from './records.ts';

export function followBackend(
  links: Links,
  id: string,
  options: FollowOptions,
): AsyncIterable<FollowItem> {
  return follow(new BackendSource(links, id, options), links.clock, links.signal, options);
}

class BackendSource implements FollowSource {
  readonly pollMs: FollowSource['pollMs'];
  readonly #links: Links;
  readonly #agent: AgentClient;
  readonly #answer: PartialAnswer;
  #reason: Reason | null = null;
  #record: BackendConversationRecord | null = null;
  /** Of the last event that has one. */
  #status: string | null = null;
  /** A status that is new since the record was read. */
  #reported: string | null = null;

  constructor(links: Links, id: string, options: FollowOptions) {
    this.#answer = new PartialAnswer(options, links.network.redaction);
    this.#links = links;
    this.#agent = agentOf(links, id);
    this.pollMs = links.app.loopback
      ? { reading: 500, listening: 3_000 }
      : { reading: 3_000, listening: 10_000 };
  }

  async readRecord(): Promise<Conversation> {
    const { starts } = this.#links;
    const { conversationId } = this.#agent;
    const started = starts.backend;
    starts.backend = null;
    if (started !== null && normalId(started.id) === conversationId) this.#record = started;
    // A run that begins has changed nothing else.
    else if (this.#record !== null && this.#reported === 'running')
      this.#record = { ...this.#record, execution_status: 'running' };
    else this.#record = await getRecord(this.#links, conversationId);
    this.#reported = null;
    return toConversation(this.#links, this.#record);
  }

  async complete(conversation: Conversation): Promise<Conversation> {
    return await withReason(this.#links, this.#agent, conversation, this.#reason);
  }

  async *readEvents(window: FollowWindow): AsyncGenerator<SourceEvent, void, void> {
    const sinceMs = window.sinceMs();
    const since = sinceMs === null ? undefined : new Date(sinceMs).toISOString();
    for await (const page of agentPages(this.#agent, { since }))
      for (const event of page) yield this.#sourceEvent(event);
  }

  async openSocket(): Promise<FollowSocket | null> {
    const socket = await openEventSocket(this.#links, this.#agent, {
      location: 'header',
      deltas: this.#answer.isWanted,
    }).catch(nullIf(isOfKind('network')));
    if (socket === null) return null;
    this.#answer.reopened();
    return {
      take: () => socket.take().map((event) => this.#sourceEvent(event, this.#answer.add(event))),
      activity: () => socket.activity(),
      get closed() {
        return socket.closed;
      },
      close: () => socket.close(),
    };
  }

  async confirmRefusal(): Promise<void> {
    await getRecord(this.#links, this.#agent.conversationId);
  }

  #sourceEvent(event: EventRecord, partial: SourceEvent['partial'] = null): SourceEvent {
    const { redaction } = this.#links.network;
    this.#reason = redaction.value(reasonOfEvent(event)) ?? this.#reason;
    if (isUserMessage(event)) this.#reason = null;
    const status = executionStatusOf(event);
    // A socket begins with the state, which the stored events have reported too.
    const execution_status = status === this.#status ? null : status;
    if (status !== null) this.#status = status;
    if (execution_status !== null) this.#reported = status;
    return {
      id: event.id,
      timestamp: event.timestamp,
      event: isNoise(event) ? null : () => toEvent(event, this.#agent.conversationId, redaction),
      execution_status,
      partial,
    };
  }
}

/** The reason of a run that has failed or is stuck; of a failed one from its newest events. */
export async function withReason(
  { network: { redaction } }: Links,
  agent: AgentClient,
  conversation: Conversation,
  known: Reason | null = null,
): Promise<Conversation> {
  const { status } = conversation;
  if (status === 'stuck') return { ...conversation, reason: endOfStatus(status)?.reason ?? null };
  if (status !== 'failed') return conversation;
  if (known !== null) return { ...conversation, reason: known };
  const newest = await agent
    .events({ order: 'TIMESTAMP_DESC', limit: 30 }, null)
    .catch(nullIf(isFailure));
  return { ...conversation, reason: redaction.value(reasonOf(newest?.items ?? [])) };
}

/** A server that restarts during a step stores the error of this step alone. */
function reasonOf(newestFirst: readonly EventRecord[]): Reason | null {
  const isOfRun = (event: EventRecord) => event.source === 'agent' || isUserMessage(event);
  const last = newestFirst.find((event) => reasonOfEvent(event) !== null || isOfRun(event));
  if (last?.kind === 'AgentErrorEvent')
    return { code: 'error', text: textOf(last.payload['error']) };
  return last === undefined ? null : reasonOfEvent(last);
}
