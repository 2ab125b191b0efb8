import type { Reason } from '../../domain/conversation.ts';
import { textOf } from '../../domain/event-payload.ts';
import { normalId } from '../../domain/ids.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type {
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../runs/follow-source.ts';
import type { Links } from '../shared/links.ts';
import type { AgentClient } from './client.ts';
import {
  executionStatusOf,
  isNoise,
  isUserMessage,
  reasonOfEvent,
  toEvent,
} from './event-records.ts';
import { PartialAnswer } from './partial-answer.ts';
import { openEventSocket, type KeyLocation } from './socket.ts';

/** What is followed at an agent server: the events of a conversation, stored and by socket. */
export class AgentSource {
  readonly pollMs: FollowSource['pollMs'];
  protected readonly links: Links;
  protected readonly id: string;
  /** That of the run since the latest message. */
  protected reason: Reason | null = null;
  readonly #answer: PartialAnswer;

  constructor(links: Links, id: string, options: FollowOptions) {
    this.links = links;
    this.id = normalId(id);
    this.#answer = new PartialAnswer(options, links.network.redaction);
    this.pollMs = links.app.loopback
      ? { reading: 500, listening: 3_000 }
      : { reading: 3_000, listening: 10_000 };
  }

  protected sinceOf(window: FollowWindow, overlapMs?: number): string | undefined {
    const sinceMs = window.sinceMs(overlapMs);
    return sinceMs === null ? undefined : new Date(sinceMs).toISOString();
  }

  /** Throws `network` when the socket does not open. */
  protected async socketOf(agent: AgentClient, location: KeyLocation): Promise<FollowSocket> {
    const deltas = this.#answer.isWanted;
    const socket = await openEventSocket(this.links, agent, { location, deltas }, (event) =>
      this.sourceEvent(event, this.#answer.add(event)),
    );
    this.#answer.reopened();
    return socket;
  }

  protected sourceEvent(event: EventRecord, partial: SourceEvent['partial'] = null): SourceEvent {
    const { redaction } = this.links.network;
    this.reason = redaction.value(reasonOfEvent(event)) ?? this.reason;
    if (isUserMessage(event)) this.reason = null;
    return {
      id: event.id,
      timestamp: event.timestamp,
      event: isNoise(event) ? null : () => toEvent(event, this.id, redaction),
      execution_status: executionStatusOf(event),
      action_id: textOf(event.payload['action_id']) || null,
      partial,
    };
  }
}
