/** The conversations of a sandbox: kept, found, started, deleted. */
import { readdirSync } from 'node:fs';
import type { SecretInput, StartConversation } from '../../protocol/agent-server/requests.ts';
import { deleteEventLog, eventLogFile, openEventLog } from '../storage/event-log.ts';
import { zonedTimestamp } from '../lifecycle/clock.ts';
import { readSteps } from '../agents/replay/schema.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';
import type { WorkerNotice } from '../sandboxes/worker-protocol.ts';
import { AbsentAgent, ReplayAgent } from '../agents/agent.ts';
import { Conversation } from './conversation.ts';
import { noMetrics } from './events.ts';
import { RunLoop } from './run-loop.ts';
import type { Sandbox } from './sandbox.ts';
import type { ConversationState } from '../storage/conversation-state.ts';

export interface ConversationEntry {
  conversation: Conversation;
  loop: RunLoop;
}

export interface ConversationsOptions {
  eventsDir: string;
  /** The replay of conversations that are started without one; null: none. */
  defaultReplay: ReplayStep[] | null;
  sandbox: Sandbox;
  nowMicroseconds: () => number;
  notify: (notice: WorkerNotice) => void;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #entries = new Map<string, ConversationEntry>();

  /** Opens the existing logs; runs that a crash has interrupted are paused. */
  constructor(options: ConversationsOptions) {
    this.#options = options;
    for (const name of readdirSync(options.eventsDir)) {
      const id = /^([0-9a-f]{32})\.db$/.exec(name)?.[1];
      if (id === undefined) continue;
      try {
        this.#open(id);
      } catch (error) {
        // A damaged log must not prevent the start of the other conversations.
        const text = `the log of conversation ${id} cannot be used: ${(error as Error).message}`;
        options.notify({ type: 'warning', text });
      }
    }
  }

  #open(id: string): void {
    const { eventsDir, nowMicroseconds, notify } = this.#options;
    const log = openEventLog(eventLogFile(eventsDir, id));
    const state = log.readState();
    if (state === null) log.close();
    else this.#keep(new Conversation(state, log, nowMicroseconds, notify)).conversation.recover();
  }

  get(id: string): ConversationEntry | null {
    return this.#entries.get(id) ?? null;
  }

  /** Oldest first. */
  all(): ConversationEntry[] {
    return [...this.#entries.values()].sort((a, b) =>
      a.conversation.state.created_at < b.conversation.state.created_at ? -1 : 1,
    );
  }

  /** Creates a conversation. The id must not be in use. Throws ReplayError when the steps are invalid. */
  create(id: string, wanted: StartConversation, workingDir: string): ConversationEntry {
    const replay = wanted.replay == null ? this.#options.defaultReplay : readSteps(wanted.replay);
    const log = openEventLog(eventLogFile(this.#options.eventsDir, id));
    const now = zonedTimestamp(this.#options.nowMicroseconds());
    const model = wanted.agent?.llm?.model ?? wanted.agent_settings?.llm?.model ?? (replay === null ? '' : 'replay');
    const state: ConversationState = {
      conversation_id: id,
      execution_status: 'idle',
      title: wanted.title ?? null,
      created_at: now,
      updated_at: now,
      working_dir: workingDir,
      max_iterations: wanted.max_iterations,
      confirmation_policy: policyOf(wanted.confirmation_policy),
      security_analyzer: wanted.security_analyzer ?? null,
      model,
      metrics: noMetrics(model),
      last_user_message_id: null,
      steps_done: 0,
      pending_action_id: null,
      tags: wanted.tags ?? {},
    };
    if (replay !== null) log.writeReplay(replay);
    // Written last: a log without a state is ignored.
    log.writeState(state);
    const conversation = new Conversation(state, log, this.#options.nowMicroseconds, this.#options.notify);
    if (wanted.secrets) conversation.setSecrets(secretValues(wanted.secrets));
    return this.#keep(conversation);
  }

  /** Ends the run, closes the log and removes it. */
  async delete(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    await entry.loop.interrupt();
    entry.conversation.close();
    deleteEventLog(eventLogFile(this.#options.eventsDir, id));
    entry.conversation.announceDeletion();
  }

  close(): void {
    for (const { conversation } of this.#entries.values()) conversation.close();
    this.#entries.clear();
  }

  #keep(conversation: Conversation): ConversationEntry {
    const replay = conversation.log.readReplay();
    const agent = replay === null ? new AbsentAgent() : new ReplayAgent(replay);
    const entry = { conversation, loop: new RunLoop(conversation, agent, this.#options.sandbox) };
    this.#entries.set(conversation.id, entry);
    return entry;
  }
}

/** The policy with its own members only. */
export function policyOf(wanted: StartConversation['confirmation_policy']): ConversationState['confirmation_policy'] {
  if (wanted == null || wanted.kind === 'NeverConfirm') return { kind: 'NeverConfirm' };
  if (wanted.kind === 'AlwaysConfirm') return { kind: 'AlwaysConfirm' };
  return { kind: 'ConfirmRisky', threshold: wanted.threshold, confirm_unknown: wanted.confirm_unknown };
}

/** The values of plain texts and secret sources; a source without a value is omitted. */
export function secretValues(secrets: Record<string, SecretInput>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).flatMap(([name, secret]) => {
      const value = typeof secret === 'string' ? secret : secret.value;
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}
