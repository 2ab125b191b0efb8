/**
 * One conversation: its state and its log. Every change goes through `record`, which writes before it notifies.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MessageContent } from '../../protocol/agent-server/requests.ts';
import type { EventLog } from '../storage/event-log.ts';
import type { ConversationNotice } from '../sandboxes/worker-protocol.ts';
import { EventClock } from '../lifecycle/clock.ts';
import { conversationError, type NewEvent, stateUpdate, systemPrompt, userMessage } from './events.ts';
import { Mask } from './masking.ts';
import { agentError, type Cause } from './observations.ts';
import type { ConversationState, StoredEvent } from '../storage/conversation-state.ts';

const SYSTEM_PROMPT =
  'You work in a sandbox with a terminal and a file editor. Carry out what the user asks for, ' +
  'and finish with a message that says what was done.';
const LONGEST_TITLE = 60;
const RETRY_PAUSE_MS = 1000;

/** A listener of a conversation. */
export interface ConversationListener {
  /** Something was written to the log. */
  onEvents: () => void;
  onGone: () => void;
}

export class Conversation {
  readonly id: string;
  readonly log: EventLog;
  readonly listeners = new Set<ConversationListener>();
  readonly #clock: EventClock;
  readonly #notify: (notice: ConversationNotice) => void;
  #state: ConversationState;
  #secrets: Record<string, string>;
  #mask: Mask;
  /** Changes made while the disk was full; written to the log before any other. */
  #unwritten: NewEvent[] = [];
  #retry: NodeJS.Timeout | null = null;

  constructor(
    state: ConversationState,
    log: EventLog,
    nowMicroseconds: () => number,
    notify: (notice: ConversationNotice) => void,
  ) {
    this.id = state.conversation_id;
    this.log = log;
    this.#state = state;
    this.#secrets = log.readSecrets();
    this.#mask = new Mask(this.#secrets);
    this.#notify = notify;
    const newest = log.search({ limit: 1, order: 'desc' }).items[0];
    this.#clock = new EventClock(nowMicroseconds, newest?.timestamp ?? null);
  }

  get state(): Readonly<ConversationState> {
    return this.#state;
  }

  get secrets(): Readonly<Record<string, string>> {
    return this.#secrets;
  }

  /** Writes events and what they change, both or neither, and notifies the listeners. Returns the events as written. */
  record(events: NewEvent[], change: Partial<ConversationState> = {}): StoredEvent[] {
    const waited = this.#unwritten.map((event) => this.#stamp(event));
    const written = events.map((event) => this.#stamp(event));
    const state = { ...this.#state, ...change, updated_at: `${this.#clock.next()}Z` };
    this.log.appendWithState([...waited, ...written], state);
    this.#unwritten = [];
    this.#state = state;
    this.#report(false);
    for (const listener of this.listeners) listener.onEvents();
    return written;
  }

  /** An event that is sent to one socket and not written. */
  passing(event: NewEvent): StoredEvent {
    return this.#stamp(event);
  }

  /** Changes the status; writes an event only when the status differs. */
  setStatus(
    status: ConversationState['execution_status'],
    more: NewEvent[] = [],
    change: Partial<ConversationState> = {},
  ): void {
    const events = status === this.#state.execution_status ? [] : [stateUpdate('execution_status', status)];
    this.record([...events, ...more], { ...change, execution_status: status });
  }

  /**
   * Changes a member that clients are sent an event about, with its value unless that is null; nothing when it is
   * equal.
   */
  setMember<Name extends 'confirmation_policy' | 'security_analyzer'>(
    name: Name,
    value: ConversationState[Name],
  ): void {
    if (isDeepStrictEqual(value, this.#state[name])) return;
    this.record([stateUpdate(name, value ?? undefined)], { [name]: value });
  }

  /** Adds a message of the user. A conversation that had ended is idle again; the first message gives the title. */
  addMessage(role: string, content: MessageContent[]): void {
    const ended = ['finished', 'error', 'stuck'].includes(this.#state.execution_status);
    const first = this.log.lastSequence() === 0 ? [systemPrompt(SYSTEM_PROMPT)] : [];
    if (ended) this.setStatus('idle');
    const id = randomUUID();
    const said = [{ ...userMessage(role, content), id }, stateUpdate('last_user_message_id', id)];
    this.record([...first, ...said], {
      last_user_message_id: id,
      title: this.#state.title ?? titleOf(this.#mask.value(content)),
    });
  }

  /** All events, oldest first, read lazily. */
  *history(): Generator<StoredEvent> {
    for (let at = 0; ;) {
      const batch = this.log.readAfter(at, 100);
      if (batch.length === 0) return;
      for (const { sequence, json } of batch) {
        at = sequence;
        yield JSON.parse(json) as StoredEvent;
      }
    }
  }

  /** Ends a run on a full disk: effective at once, and written as soon as there is space. */
  breakOff(events: NewEvent[]): void {
    this.#state = { ...this.#state, execution_status: 'error', pending_action_id: null };
    this.#unwritten.push(stateUpdate('execution_status', 'error'), ...events);
    this.#report(false);
    this.#writeLater();
  }

  #writeLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      if (this.#unwritten.length > 0 && !this.#writeNow()) this.#writeLater();
    }, RETRY_PAUSE_MS).unref();
  }

  #writeNow(): boolean {
    try {
      this.record([]);
      return true;
    } catch {
      return false;
    }
  }

  setSecrets(secrets: Record<string, string>): void {
    this.#secrets = { ...this.#secrets, ...secrets };
    this.#mask = new Mask(this.#secrets);
    this.log.writeSecrets(this.#secrets);
  }

  /** The action that has no observation yet. */
  pending(): Cause | null {
    const id = this.#state.pending_action_id;
    const event = id === null ? null : (this.log.get([id])[0] ?? null);
    if (event === null) return null;
    return { tool_name: String(event['tool_name']), tool_call_id: String(event['tool_call_id']), action_id: event.id };
  }

  /** After a crash: a run in progress is paused, and its pending action gets an AgentErrorEvent. */
  recover(): void {
    if (this.#state.execution_status !== 'running') return;
    const cause = this.pending();
    const lost = cause === null ? [] : [agentError(cause, 'The service ended before this tool call was complete.')];
    this.record([...lost, stateUpdate('execution_status', 'paused')], {
      execution_status: 'paused',
      pending_action_id: null,
    });
  }

  /** After a failure of the sandbox during a run: the run has failed; `detail` has the reason in sentences. */
  crash(detail: string): void {
    if (this.#state.execution_status !== 'running') return;
    const cause = this.pending();
    const lost = cause === null ? [] : [agentError(cause, 'The sandbox ended before this tool call was complete.')];
    this.setStatus('error', [...lost, conversationError('SandboxCrashed', detail)], { pending_action_id: null });
  }

  close(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    if (this.#unwritten.length > 0) this.#writeNow();
    for (const listener of [...this.listeners]) listener.onGone();
    this.log.close();
  }

  /** Reports the deletion. */
  announceDeletion(): void {
    this.#report(true);
  }

  #stamp(event: NewEvent): StoredEvent {
    const { id, source, kind, ...members } = this.#mask.event(event);
    return { id: id ?? randomUUID(), timestamp: this.#clock.next(), source, ...members, kind };
  }

  #report(deleted: boolean): void {
    const { execution_status, title, metrics, updated_at } = this.#state;
    this.#notify({
      type: 'conversation',
      conversation_id: this.id,
      execution_status,
      title,
      metrics,
      updated_at,
      deleted,
    });
  }
}

/** The first line of a message, cut between words. */
export function titleOf(content: MessageContent[]): string | null {
  const text = content
    .map((part) => part.text ?? '')
    .join(' ')
    .trim();
  const line = text.split(/\r?\n/, 1)[0]?.trim() ?? '';
  if (line === '') return null;
  if (line.length <= LONGEST_TITLE) return line;
  const cut = line.slice(0, LONGEST_TITLE - 1);
  const space = cut.lastIndexOf(' ');
  return `${space > LONGEST_TITLE / 2 ? cut.slice(0, space) : cut}…`;
}
