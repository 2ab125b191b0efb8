import { readdirSync } from 'node:fs';
import type { ForkConversation, StartConversation } from '../../protocol/agent-server/requests.ts';
import { toDashedId } from '../../protocol/detail.ts';
import {
  deleteEventLog,
  eventLogFile,
  type EventLog,
  openEventLog,
  parseStored,
} from '../storage/event-log.ts';
import { zonedTimestamp } from '../lifecycle/clock.ts';
import type { ModelConfig } from '../base/model-config.ts';
import { readSteps } from '../base/steps.ts';
import type { WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { ReplayAgent } from '../agents/agent.ts';
import { systemPrompt } from '../agents/model/prompt.ts';
import { LazyModelAgent } from './model-agent.ts';
import { Conversation } from './conversation.ts';
import type { Instructions } from './instructions.ts';
import { LazyMcpClient } from './mcp.ts';
import { RunLoop } from './run-loop.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { Tools } from './tools.ts';
import type { Store } from '../storage/index.ts';
import {
  noMetrics,
  type ConversationState,
  type StoredEvent,
} from '../storage/conversation-state.ts';

export interface ConversationStart {
  body: StartConversation;
  /** Null: the body has neither an agent nor its settings. */
  agent: StartConversation['agent_settings'];
  workingDir: string;
  instructions: Instructions;
}

export interface ConversationEntry {
  conversation: Conversation;
  loop: RunLoop;
  model: LazyModelAgent | null;
}

export interface ConversationsContext {
  config: Pick<WorkerConfig, 'events_dir' | 'default_replay' | 'spec'>;
  sandbox: Sandbox;
  /** The store of the service, opened by the first request that needs it. */
  userStore: () => Pick<Store, 'documents' | 'secrets'>;
  nowMicroseconds: () => number;
  notify: (notice: WorkerNotice) => void;
}

export class Conversations {
  readonly #context: ConversationsContext;
  readonly #entries = new Map<string, ConversationEntry>();

  constructor(context: ConversationsContext) {
    this.#context = context;
    for (const name of readdirSync(context.config.events_dir)) {
      const id = /^([0-9a-f]{32})\.db$/.exec(name)?.[1];
      if (id === undefined) continue;
      try {
        const log = this.#openLog(id);
        const state = log.read('state');
        if (state === null) log.close();
        else this.#keep(state, log).conversation.recover();
      } catch (error) {
        const text = `the log of conversation ${id} cannot be used: ${(error as Error).message}`;
        context.notify({ type: 'warning', text });
      }
    }
  }

  get(id: string): ConversationEntry | null {
    return this.#entries.get(id) ?? null;
  }

  all(): ConversationEntry[] {
    return [...this.#entries.values()];
  }

  withStatus(status: string | undefined): ConversationEntry[] {
    return this.all().filter(
      ({ conversation: { state } }) => status === undefined || state.execution_status === status,
    );
  }

  /** Whether a model, not a replay, drives the conversation that this request starts. */
  needsModel({ replay }: StartConversation): boolean {
    return replay == null && this.#context.config.default_replay === null;
  }

  /** The id must not be in use. Throws ReplayError when the steps are invalid. */
  create(id: string, start: ConversationStart, secrets: Record<string, string>): ConversationEntry {
    const { body, agent, workingDir } = start;
    const { default_replay } = this.#context.config;
    const replay = body.replay == null ? default_replay : readSteps(body.replay);
    const model = agent?.llm?.model ?? (replay === null ? '' : 'replay');
    const { max_budget_per_task = null } = body;
    const state: ConversationState = {
      ...this.#newState(id),
      title: body.title ?? null,
      working_dir: workingDir,
      max_iterations: body.max_iterations,
      confirmation_policy: policyOf(body.confirmation_policy),
      security_analyzer: body.security_analyzer ?? null,
      model,
      metrics: { ...noMetrics(model), max_budget_per_task },
      last_user_message_id: null,
      steps_done: 0,
      tags: body.tags ?? {},
    };
    const log = this.#openLog(id);
    if (replay !== null) log.write('replay', replay);
    else log.write('model', modelConfig(start));
    // Written last: a log without a state is ignored.
    log.write('state', state);
    const entry = this.#keep(state, log);
    entry.conversation.setSecrets(secrets);
    return entry;
  }

  /** An idle copy up to `from_event_id`. Null: the source has no such event. */
  fork(source: Conversation, id: string, body: ForkConversation): ConversationEntry | null {
    const last = body.from_event_id ?? null;
    const { model, metrics, steps_done, tags } = source.state;
    const sequence = last === null ? source.log.lastSequence() : source.log.sequenceOf(last);
    if (sequence === null) return null;
    const notCopied = source.log
      .readAfter(sequence, Number.MAX_SAFE_INTEGER)
      .map(({ json }) => parseStored<StoredEvent>(json));
    const { max_budget_per_task } = metrics;
    const state: ConversationState = {
      ...source.state,
      ...this.#newState(id),
      title: body.title ?? null,
      metrics: body.reset_metrics ? { ...noMetrics(model), max_budget_per_task } : metrics,
      steps_done: steps_done - notCopied.filter(endsStep).length,
      tags: body.tags ?? tags,
      forked_from: { conversation_id: toDashedId(source.id), event_id: last },
    };
    const log = this.#openLog(id);
    log.copyFrom(eventLogFile(this.#context.config.events_dir, source.id), sequence, state);
    return this.#keep(state, log);
  }

  async delete(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    await entry.loop.interrupt();
    entry.loop.tools.mcp.close();
    entry.conversation.close();
    deleteEventLog(eventLogFile(this.#context.config.events_dir, id));
    entry.conversation.report(true);
  }

  close(): void {
    for (const { conversation } of this.#entries.values()) conversation.close();
    this.#entries.clear();
  }

  #newState(id: string) {
    const now = zonedTimestamp(this.#context.nowMicroseconds());
    return {
      conversation_id: id,
      execution_status: 'idle',
      created_at: now,
      updated_at: now,
      pending_action_id: null,
    } as const;
  }

  #openLog(id: string): EventLog {
    return openEventLog(eventLogFile(this.#context.config.events_dir, id));
  }

  #keep(state: ConversationState, log: EventLog): ConversationEntry {
    const { config, nowMicroseconds, notify, sandbox, userStore } = this.#context;
    const conversation = new Conversation(state, log, nowMicroseconds, notify);
    const mcp = new LazyMcpClient(conversation, sandbox);
    const model =
      conversation.model === null ? null : new LazyModelAgent(conversation, mcp, userStore);
    const agent = model ?? new ReplayAgent(log.read('replay') ?? []);
    const tools = new Tools(sandbox, conversation, mcp);
    const loop = new RunLoop(conversation, agent, tools, config.spec !== 'process');
    const entry = { conversation, loop, model };
    this.#entries.set(conversation.id, entry);
    return entry;
  }
}

function modelConfig({ body, agent, workingDir, instructions }: ConversationStart): ModelConfig {
  const suffix = agent?.agent_context?.system_message_suffix ?? '';
  return {
    llm: agent?.llm ?? {},
    tools: agent?.tools?.map(({ name }) => name) ?? null,
    mcp_config: agent?.mcp_config ?? {},
    condenser: agent?.condenser,
    system_prompt: systemPrompt(workingDir, instructions.text, suffix),
    skills: instructions.skills,
    of_settings: body.llm_of_settings === true,
  };
}

function endsStep({ kind, source }: StoredEvent): boolean {
  if (kind === 'MessageEvent') return source === 'agent';
  return kind === 'ObservationEvent' || kind === 'UserRejectObservation';
}

export function policyOf(
  policy: StartConversation['confirmation_policy'],
): ConversationState['confirmation_policy'] {
  if (policy?.kind !== 'ConfirmRisky') return { kind: policy?.kind ?? 'NeverConfirm' };
  const { kind, threshold, confirm_unknown } = policy;
  return { kind, threshold, confirm_unknown };
}
