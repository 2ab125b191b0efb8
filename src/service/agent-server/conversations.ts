import { readdirSync } from 'node:fs';
import path from 'node:path';
import type {
  ForkConversation,
  Llm,
  SecretInput,
  StartConversation,
} from '../../protocol/agent-server/requests.ts';
import { toDashedId } from '../../protocol/detail.ts';
import {
  deleteEventLog,
  eventLogFile,
  type EventLog,
  openEventLog,
  parseStored,
} from '../storage/event-log.ts';
import { zonedTimestamp } from '../lifecycle/clock.ts';
import { readSteps, type ReplayStep } from '../base/steps.ts';
import type { WorkerNotice } from '../base/worker-protocol.ts';
import { ReplayAgent } from '../agents/agent.ts';
import { type Instructions, systemPrompt } from '../agents/model/prompt.ts';
import { LazyModelAgent } from './model-agent.ts';
import { Conversation } from './conversation.ts';
import { LazyMcpClient } from './mcp.ts';
import { RunLoop } from './run-loop.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { Tools } from './tools.ts';
import {
  noMetrics,
  type ConversationState,
  type StoredEvent,
} from '../storage/conversation-state.ts';

/** Files of the repository with instructions for the agent. */
const INSTRUCTIONS = ['AGENTS.md', '.openhands/microagents/repo.md', '.openhands/instructions.md'];
const LARGEST_INSTRUCTIONS = 1024 * 1024;

export interface ConversationEntry {
  conversation: Conversation;
  loop: RunLoop;
  /** Null: a replay drives the conversation. */
  model: LazyModelAgent | null;
  mcp: LazyMcpClient;
}

export interface ConversationsOptions {
  eventsDir: string;
  /** The replay of conversations that are started without one; null: none. */
  defaultReplay: ReplayStep[] | null;
  llmOfSettings: () => Llm;
  sandbox: Sandbox;
  nowMicroseconds: () => number;
  notify: (notice: WorkerNotice) => void;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #entries = new Map<string, ConversationEntry>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
    for (const name of readdirSync(options.eventsDir)) {
      const id = /^([0-9a-f]{32})\.db$/.exec(name)?.[1];
      if (id === undefined) continue;
      try {
        const log = openEventLog(eventLogFile(options.eventsDir, id));
        const state = log.read('state');
        if (state === null) log.close();
        else this.#keep(state, log).conversation.recover();
      } catch (error) {
        // A damaged log must not prevent the start of the other conversations.
        const text = `the log of conversation ${id} cannot be used: ${(error as Error).message}`;
        options.notify({ type: 'warning', text });
      }
    }
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

  /** Whether a model, not a replay, drives the conversation that this request starts. */
  needsModel({ replay }: StartConversation): boolean {
    return replay == null && this.#options.defaultReplay === null;
  }

  async instructions(workingDir: string): Promise<Instructions> {
    const { sandbox } = this.#options;
    const texts = INSTRUCTIONS.map(async (name): Promise<[string, string]> => {
      const read = sandbox.readFile(path.posix.join(workingDir, name), LARGEST_INSTRUCTIONS);
      return [name, await read.then((bytes) => bytes.toString('utf8')).catch(() => '')];
    });
    return (await Promise.all(texts)).filter(([, text]) => text.trim() !== '');
  }

  /** The id must not be in use. Throws ReplayError when the steps are invalid. */
  create(
    id: string,
    wanted: StartConversation,
    workingDir: string,
    instructions: Instructions,
  ): ConversationEntry {
    const replay = wanted.replay == null ? this.#options.defaultReplay : readSteps(wanted.replay);
    const agent = wanted.agent ?? wanted.agent_settings;
    const model = agent?.llm?.model ?? (replay === null ? '' : 'replay');
    const { title = null, security_analyzer = null, max_budget_per_task = null } = wanted;
    const log = openEventLog(eventLogFile(this.#options.eventsDir, id));
    const now = zonedTimestamp(this.#options.nowMicroseconds());
    const state: ConversationState = {
      conversation_id: id,
      execution_status: 'idle',
      title,
      created_at: now,
      updated_at: now,
      working_dir: workingDir,
      max_iterations: wanted.max_iterations,
      confirmation_policy: policyOf(wanted.confirmation_policy),
      security_analyzer,
      model,
      metrics: { ...noMetrics(model), max_budget_per_task },
      last_user_message_id: null,
      steps_done: 0,
      pending_action_id: null,
      tags: wanted.tags ?? {},
    };
    if (replay !== null) log.write('replay', replay);
    else {
      const { llm, tools, mcp_config, agent_context } = agent ?? {};
      const suffix = agent_context?.system_message_suffix ?? '';
      log.write('model', {
        llm: llm ?? {},
        tools: tools?.map(({ name }) => name) ?? null,
        mcp_config: mcp_config ?? {},
        system_prompt: systemPrompt(workingDir, instructions, suffix),
        of_settings: wanted.llm_of_settings === true,
      });
    }
    // Written last: a log without a state is ignored.
    log.write('state', state);
    const entry = this.#keep(state, log);
    if (wanted.secrets) entry.conversation.setSecrets(secretValues(wanted.secrets));
    return entry;
  }

  /** An idle copy up to `from_event_id`. Null: the source has no such event. */
  fork(source: Conversation, id: string, wanted: ForkConversation): ConversationEntry | null {
    const { from_event_id: last, title = null, tags, reset_metrics: isFresh } = wanted;
    const { metrics, model } = source.state;
    const sequence = last == null ? source.log.lastSequence() : source.log.sequenceOf(last);
    if (sequence === null) return null;
    const now = zonedTimestamp(this.#options.nowMicroseconds());
    const left = source.log
      .readAfter(sequence, Number.MAX_SAFE_INTEGER)
      .map(({ json }) => parseStored<StoredEvent>(json));
    const state: ConversationState = {
      ...source.state,
      conversation_id: id,
      execution_status: 'idle',
      title,
      created_at: now,
      updated_at: now,
      metrics: isFresh
        ? { ...noMetrics(model), max_budget_per_task: metrics.max_budget_per_task }
        : metrics,
      steps_done: source.state.steps_done - left.filter(endsStep).length,
      pending_action_id: null,
      tags: tags ?? source.state.tags,
      forked_from: { conversation_id: toDashedId(source.id), event_id: last ?? null },
    };
    const log = openEventLog(eventLogFile(this.#options.eventsDir, id));
    log.copyFrom(eventLogFile(this.#options.eventsDir, source.id), sequence, state);
    return this.#keep(state, log);
  }

  async delete(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    await entry.loop.interrupt();
    entry.mcp.close();
    entry.conversation.close();
    deleteEventLog(eventLogFile(this.#options.eventsDir, id));
    entry.conversation.report(true);
  }

  close(): void {
    for (const { conversation } of this.#entries.values()) conversation.close();
    this.#entries.clear();
  }

  #keep(state: ConversationState, log: EventLog): ConversationEntry {
    const { nowMicroseconds, notify, sandbox, llmOfSettings } = this.#options;
    const conversation = new Conversation(state, log, nowMicroseconds, notify);
    const replay = log.read('replay');
    const mcp = new LazyMcpClient(conversation, sandbox);
    const model = replay === null ? new LazyModelAgent(conversation, mcp, llmOfSettings) : null;
    const agent = model ?? new ReplayAgent(replay ?? []);
    const loop = new RunLoop(conversation, agent, new Tools(sandbox, conversation, mcp));
    const entry = { conversation, loop, model, mcp };
    this.#entries.set(conversation.id, entry);
    return entry;
  }
}

function endsStep({ kind, source }: StoredEvent): boolean {
  if (kind === 'MessageEvent') return source === 'agent';
  return kind === 'ObservationEvent' || kind === 'UserRejectObservation';
}

export function policyOf(
  wanted: StartConversation['confirmation_policy'],
): ConversationState['confirmation_policy'] {
  if (wanted?.kind !== 'ConfirmRisky') return { kind: wanted?.kind ?? 'NeverConfirm' };
  return {
    kind: wanted.kind,
    threshold: wanted.threshold,
    confirm_unknown: wanted.confirm_unknown,
  };
}

export function secretValues(secrets: Record<string, SecretInput>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).flatMap(([name, secret]) => {
      const value = typeof secret === 'string' ? secret : secret.value;
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}
