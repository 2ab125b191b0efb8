/** A V1 conversation: the record at the app server, events and socket at the sandbox. */
import { isFailure, isOfKind } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type {
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../runs/follow-source.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { AgentSource } from '../agent-server/follow.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { createBusyWatch } from './quirks/busy-sandbox.ts';
import {
  COPY_OVERLAP_MS,
  createCopySource,
  lateReason,
  type CopyNotices,
} from './quirks/late-copy.ts';
import { createLostWatch } from './quirks/lost-at-sandbox.ts';
import { createAvoidance } from './quirks/silent-sandbox.ts';
import { keyLocations } from './quirks/socket-key-in-query.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { completeRecord } from './complete-record.ts';
import { eventRecords } from './events.ts';
import { toConversation } from './records.ts';

const SANDBOX_MEMBERS = [
  'sandbox_id',
  'sandbox_status',
  'conversation_url',
  'session_api_key',
] as const;

export class SourceV1 extends AgentSource implements FollowSource {
  readonly #notices: CopyNotices;
  readonly #keyLocations = keyLocations();
  readonly #copy: ReturnType<typeof createCopySource>;
  readonly #avoidance: ReturnType<typeof createAvoidance>;
  readonly #isBusy: ReturnType<typeof createBusyWatch>;
  readonly #refuseLost: ReturnType<typeof createLostWatch>;
  #record: AppConversationRecord | null = null;

  constructor(links: Links, notices: CopyNotices, id: string, options: FollowOptions) {
    super(links, id, options);
    this.#notices = notices;
    this.#copy = createCopySource(links);
    this.#avoidance = createAvoidance(links.clock);
    this.#isBusy = createBusyWatch(links.clock);
    this.#refuseLost = createLostWatch(links.clock);
  }

  async readRecord(): Promise<Conversation> {
    const { starts } = this.links;
    const started = starts.record;
    starts.record = null;
    const isStarted = started !== null && normalId(started.id) === this.id;
    const record = isStarted ? started : await getConversation(this.links, this.id);
    this.#record = record;
    await this.#refuseLost(record, this.#agentFor(record));
    const conversation = toConversation(this.links, record);
    if (this.#isBusy(conversation, this.reason !== null)) conversation.may_recover = true;
    return conversation;
  }

  async complete(conversation: Conversation, extent?: 'once'): Promise<Conversation> {
    const record = await this.#latest();
    const agentFor = (current: AppConversationRecord) => this.#agentFor(current);
    const state = await completeRecord(this.links, record, agentFor);
    delete state.may_recover;
    // The record may have changed since; the status that was read before is the one to report.
    const { execution_status, status, waiting_for } = conversation;
    if (execution_status !== null) Object.assign(state, { status, waiting_for });
    if (state.status !== 'failed') return state;
    state.reason = this.reason ?? state.reason;
    if (extent !== 'once') state.reason ??= await lateReason(this.links, record);
    return state;
  }

  async *readEvents(window: FollowWindow): AsyncGenerator<SourceEvent, void, void> {
    const record = await this.#latest();
    const agent = this.#agentFor(record);
    const isCopy = agent === null || this.#copy.isCopy;
    const since = this.sinceOf(window, isCopy ? COPY_OVERLAP_MS : undefined);
    let source: 'sandbox' | 'copy' = 'sandbox';
    const useCopy = () => {
      source = 'copy';
      this.#copy.readFrom(source, record);
      return Promise.resolve(source);
    };
    if (agent === null) await useCopy();
    if (record.sandbox_status === 'PAUSED') await this.#notices.notRunning(record);
    for await (const event of eventRecords(this.links, record.id, agent, { since }, useCopy))
      yield this.sourceEvent(event);
    this.#copy.readFrom(source, record);
  }

  catchUp({ execution_status: status }: Conversation): Promise<'complete' | 'read-again'> {
    return this.#copy.catchUp(this.id, status);
  }

  async openSocket(): Promise<FollowSocket | null> {
    const record = await this.#latest();
    const agent = this.#agentFor(record);
    if (agent === null || record.sandbox_status !== 'RUNNING') return null;
    const startedAtMs = this.links.clock.now();
    try {
      const socket = await this.socketOf(agent, this.#keyLocations.now());
      this.#keyLocations.worked();
      this.#avoidance.end();
      return socket;
    } catch (error) {
      if (!isOfKind('network')(error)) throw error;
      if (await this.#answersNow()) this.#keyLocations.failed();
      else this.#avoidance.failed(startedAtMs);
      return null;
    }
  }

  async confirmRefusal(): Promise<void> {
    await this.#answersNow();
  }

  /** Throws `auth` or `not-found` when the sandbox refuses the key or lacks the conversation. */
  async #answersNow(): Promise<boolean> {
    const before = await this.#latest();
    try {
      await this.#agentFor(before)?.conversation();
      return true;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.kind !== 'auth' && error.kind !== 'not-found') return false;
      const now = await getConversation(this.links, this.id);
      this.#record = now;
      // The sandbox was replaced or paused: the refusal was that of the one before.
      if (SANDBOX_MEMBERS.some((name) => now[name] !== before[name])) return false;
      throw error;
    }
  }

  async #latest(): Promise<AppConversationRecord> {
    return (this.#record ??= await getConversation(this.links, this.id));
  }

  #agentFor(record: AppConversationRecord): AgentClient | null {
    return this.#avoidance.isOn() ? null : agentOf(this.links, record);
  }
}
