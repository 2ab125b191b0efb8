/** Record, events and socket come from one server: no copy is late, no sandbox is missing. */
import { isFailure, isOfKind, nullIf } from '../../base/errors.ts';
import type { Conversation, Reason } from '../../domain/conversation.ts';
import { textOf } from '../../domain/event-payload.ts';
import { normalId } from '../../domain/ids.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type {
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../runs/follow-source.ts';
import { endOfStatus } from '../../runs/status.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { isUserMessage, reasonOfEvent } from '../agent-server/event-records.ts';
import { AgentSource } from '../agent-server/follow.ts';
import type { Links } from '../shared/links.ts';
import { agentOf, getRecord } from './calls.ts';
import { toConversation } from './records.ts';

export class BackendSource extends AgentSource implements FollowSource {
  readonly #agent: AgentClient;
  #record: AgentConversationRecord | null = null;
  /** Of the last event that has one. */
  #status: string | null = null;
  /** A status that is new since the record was read. */
  #reported: string | null = null;

  constructor(links: Links, id: string, options: FollowOptions) {
    super(links, id, options);
    this.#agent = agentOf(links, id);
  }

  async readRecord(): Promise<Conversation> {
    const { starts } = this.links;
    const started = starts.backend;
    starts.backend = null;
    if (started !== null && normalId(started.id) === this.id) this.#record = started;
    // A run that begins has changed nothing else.
    else if (this.#record !== null && this.#reported === 'running')
      this.#record = { ...this.#record, execution_status: 'running' };
    else this.#record = await getRecord(this.links, this.id);
    this.#reported = null;
    return toConversation(this.links, this.#record);
  }

  async complete(conversation: Conversation): Promise<Conversation> {
    return await withReason(this.links, this.#agent, conversation, this.reason);
  }

  async *readEvents(window: FollowWindow): AsyncGenerator<SourceEvent, void, void> {
    for await (const page of this.#agent.eventPages({ since: this.sinceOf(window) }))
      for (const event of page) yield this.sourceEvent(event);
  }

  async openSocket(): Promise<FollowSocket | null> {
    return await this.socketOf(this.#agent, 'header').catch(nullIf(isOfKind('network')));
  }

  async confirmRefusal(): Promise<void> {
    await getRecord(this.links, this.id);
  }

  protected override sourceEvent(...of: Parameters<AgentSource['sourceEvent']>): SourceEvent {
    const event = super.sourceEvent(...of);
    const { execution_status: status } = event;
    // A socket begins with the state, which the stored events have reported too.
    if (status === null || status === this.#status) return { ...event, execution_status: null };
    this.#status = this.#reported = status;
    return event;
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
  const newest = await agent.newestEvents().catch(nullIf(isFailure));
  return { ...conversation, reason: redaction.value(reasonOf(newest ?? [])) };
}

/** A server that restarts during a step stores the error of this step alone. */
function reasonOf(newestFirst: readonly EventRecord[]): Reason | null {
  const isOfRun = (event: EventRecord) => event.source === 'agent' || isUserMessage(event);
  const last = newestFirst.find((event) => reasonOfEvent(event) !== null || isOfRun(event));
  if (last?.kind === 'AgentErrorEvent')
    return { code: 'error', text: textOf(last.payload['error']) };
  return last === undefined ? null : reasonOfEvent(last);
}
