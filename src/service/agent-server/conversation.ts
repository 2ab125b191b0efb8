import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { cut, wellFormed } from '../../base/text/well-formed.ts';
import type { MessageContent } from '../../protocol/agent-server/requests.ts';
import { EventClock } from '../lifecycle/clock.ts';
import type { Situation } from '../agents/agent.ts';
import { offeredTools } from '../agents/model/definitions.ts';
import type { ModelConfig, Skill } from '../base/model-config.ts';
import type { ConversationNotice } from '../base/worker-protocol.ts';
import type { ModelUsage } from '../base/steps.ts';
import {
  addUsage,
  type ConversationState,
  type StoredEvent,
} from '../storage/conversation-state.ts';
import { type EventLog, parseStored } from '../storage/event-log.ts';
import type { Mask } from '../storage/masking.ts';
import {
  agentError,
  type Cause,
  conversationError,
  messageEvent,
  type NewEvent,
  stateUpdate,
  statsUpdate,
  systemPromptEvent,
  textContent,
} from './events.ts';
import { triggeredBy } from './instructions.ts';

const REPLAY_PROMPT =
  'You work in a sandbox with a terminal and a file editor. Carry out what the user asks ' +
  'for, and finish with a message that says what was done.';
const LONGEST_TITLE = 60;

export interface ConversationListener {
  readonly wantsDeltas: boolean;
  onEvents: (runEnded: boolean) => void;
  onPassing: (event: NewEvent) => void;
  onGone: () => void;
}

/** Every change goes through `record`, which writes before it notifies. */
export class Conversation {
  readonly id: string;
  /** The texts as they were written, which the model gets. */
  readonly log: EventLog;
  /** The texts without the values of secrets. */
  readonly shown: EventLog;
  readonly listeners = new Set<ConversationListener>();
  readonly #clock: EventClock;
  readonly #notify: (notice: ConversationNotice) => void;
  #state: ConversationState;
  #secrets: Record<string, string>;
  #model: ModelConfig | null;
  #mask: Mask;

  constructor(
    state: ConversationState,
    log: EventLog,
    nowMicroseconds: () => number,
    notify: (notice: ConversationNotice) => void,
  ) {
    this.id = state.conversation_id;
    this.log = log;
    this.shown = log.masked();
    this.#state = wellFormed(state);
    this.#secrets = log.read('secrets') ?? {};
    this.#model = log.read('model');
    this.#mask = log.mask();
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

  get environment(): Record<string, string> {
    return Object.fromEntries(
      Object.entries(this.#secrets).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
    );
  }

  /** Writes events and what they change, both or neither, and notifies the listeners. */
  record(events: NewEvent[], change: Partial<ConversationState> = {}): void {
    const written = events.map((event) => this.stamp(event));
    const state = wellFormed({ ...this.#state, ...change, updated_at: `${this.#clock.next()}Z` });
    const runEnded =
      this.#state.execution_status === 'running' && state.execution_status !== 'running';
    this.log.appendWithState(written, state);
    this.#state = state;
    this.report(false);
    this.notify(runEnded);
  }

  /** `runEnded`: whether sockets get the full state, too. */
  notify(runEnded: boolean): void {
    for (const listener of this.listeners) listener.onEvents(runEnded);
  }

  stamp(event: NewEvent): StoredEvent {
    const { id, source, kind, ...members } = event;
    return { id: id ?? randomUUID(), timestamp: this.#clock.next(), source, ...members, kind };
  }

  setStatus(
    status: ConversationState['execution_status'],
    more: NewEvent[] = [],
    change: Partial<ConversationState> = {},
  ): void {
    const events =
      status === this.#state.execution_status ? [] : [stateUpdate('execution_status', status)];
    this.record([...events, ...more], { ...change, execution_status: status });
  }

  setMember<Name extends 'confirmation_policy' | 'security_analyzer'>(
    name: Name,
    value: ConversationState[Name],
  ): void {
    if (isDeepStrictEqual(value, this.#state[name])) return;
    this.record([stateUpdate(name, value ?? undefined)], { [name]: value });
  }

  addMessage(role: string, content: MessageContent[]): void {
    const { execution_status, title } = this.#state;
    const prompt =
      this.#model === null
        ? systemPromptEvent(REPLAY_PROMPT, [])
        : systemPromptEvent(this.#model.system_prompt, offeredTools(this.#model.tools));
    const first = this.#state.last_user_message_id === null ? [prompt] : [];
    if (['finished', 'error', 'stuck'].includes(execution_status)) this.setStatus('idle');
    const id = randomUUID();
    const skills = role === 'user' ? this.#skillsFor(content) : [];
    const message = {
      ...messageEvent(role, content),
      id,
      activated_skills: skills.map(({ name }) => name),
      extended_content: skills.flatMap(({ text }) => textContent(text)),
    };
    this.record([...first, message, stateUpdate('last_user_message_id', id)], {
      last_user_message_id: id,
      title: title ?? titleOf(this.masked(content.map((part) => part.text ?? '').join(' '))),
    });
  }

  /** Each skill is added once. */
  #skillsFor(content: MessageContent[]): Skill[] {
    const words = content.map((part) => part.text ?? '').join('\n');
    const skills = triggeredBy(this.#model?.skills ?? [], words);
    if (skills.length === 0) return [];
    const before = new Set([...this.history()].flatMap((event) => event['activated_skills']));
    return skills.filter(({ name }) => !before.has(name));
  }

  /** A message of the service to the user and the model. */
  notice(text: string): void {
    this.record([messageEvent('system', textContent(this.masked(text)))]);
  }

  masked(text: string): string {
    return this.#mask.text(text);
  }

  used(usage: ModelUsage | undefined): { events: NewEvent[]; change: Partial<ConversationState> } {
    if (usage === undefined) return { events: [], change: {} };
    const metrics = addUsage(this.#state.metrics, usage);
    return { events: [statsUpdate(metrics)], change: { metrics } };
  }

  *history(log = this.log): Generator<StoredEvent> {
    for (let at = 0; ;) {
      const batch = log.readAfter(at, 100);
      if (batch.length === 0) return;
      for (const { sequence, json } of batch) {
        at = sequence;
        yield parseStored<StoredEvent>(json);
      }
    }
  }

  setSecrets(secrets: Record<string, string>): void {
    this.#secrets = { ...this.#secrets, ...secrets };
    this.#write('secrets', this.#secrets);
  }

  get model(): Readonly<ModelConfig> | null {
    return this.#model;
  }

  setModel(model: ModelConfig): void {
    this.#model = model;
    this.#write('model', model);
  }

  #write(...[name, value]: Parameters<EventLog['write']>): void {
    this.log.write('former', this.#mask.secrets);
    this.log.write(name, value);
    this.#mask = this.log.mask();
  }

  /**
   * Sends parts of answers: with `llm.stream` to each listener, else to those that want them. Null:
   * `llm.stream` is false. A delta without a text begins an answer, as on genuine servers.
   */
  get onText(): Situation['onText'] {
    const stream = this.#model?.llm.stream;
    if (this.#model === null || stream === false) return null;
    let rest = '';
    return (text, at) => {
      let content: string;
      [content, rest] = at === 'beginning' ? ['', ''] : this.#mask.beginning(rest + text);
      if (at === 'end') [content, rest] = [content + rest, ''];
      if (content === '' && at !== 'beginning') return;
      const event = { source: 'agent', content, kind: 'StreamingDeltaEvent' } as const;
      for (const listener of this.listeners)
        if (stream === true || listener.wantsDeltas) listener.onPassing(event);
    };
  }

  pending(): Cause | null {
    const id = this.#state.pending_action_id;
    const event = id === null ? null : (this.log.get([id])[0] ?? null);
    if (event === null) return null;
    return {
      tool_name: String(event['tool_name']),
      tool_call_id: String(event['tool_call_id']),
      action_id: event.id,
    };
  }

  /** After a crash: a run in progress is paused, and its pending action gets an AgentErrorEvent. */
  recover(): void {
    if (this.#state.execution_status !== 'running') return;
    const lost = this.#lost('The service ended before this tool call was complete.');
    const change = { execution_status: 'paused', pending_action_id: null } as const;
    this.record([...lost, stateUpdate('execution_status', 'paused')], change);
  }

  /** Ends a run in an error. `detail` is in sentences; `lost` is for its pending action. */
  fail(code: string, detail: string, lost: string): void {
    const events = [...this.#lost(lost), conversationError(code, detail)];
    this.setStatus('error', events, { pending_action_id: null });
  }

  #lost(why: string): NewEvent[] {
    const cause = this.pending();
    return cause === null ? [] : [agentError(cause, why)];
  }

  /** Ends a run on a full disk. In the log it ends when the sandbox ends. */
  breakOff(): void {
    this.#state = { ...this.#state, execution_status: 'error', pending_action_id: null };
    this.report(false);
  }

  close(): void {
    for (const listener of [...this.listeners]) listener.onGone();
    this.log.close();
  }

  report(deleted: boolean): void {
    this.#notify({ ...noticeOf(this.#state), deleted });
  }
}

export function noticeOf(state: ConversationState): ConversationNotice {
  const { conversation_id, execution_status, title, metrics, updated_at } = state;
  const members = { conversation_id, execution_status, title, metrics, updated_at };
  return { type: 'conversation', ...members, deleted: false };
}

function titleOf(text: string): string | null {
  const line = text.trim().split(/\r?\n/, 1)[0]?.trim() ?? '';
  if (line.length <= LONGEST_TITLE) return line === '' ? null : line;
  const begin = cut(line, LONGEST_TITLE - 1);
  const space = begin.lastIndexOf(' ');
  return `${space > LONGEST_TITLE / 2 ? begin.slice(0, space) : begin}…`;
}
