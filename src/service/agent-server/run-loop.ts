import type { Agent } from '../agents/agent.ts';
import { isReadOrBuild } from '../agents/model/known-commands.ts';
import { pricesOf } from '../base/known-models.ts';
import { RISKS, type ToolStep } from '../base/steps.ts';
import type { ConversationState } from '../storage/conversation-state.ts';
import { storageError } from '../storage/storage-error.ts';
import type { Conversation } from './conversation.ts';
import {
  actionEvent,
  agentError,
  type Cause,
  condensationEvent,
  conversationError,
  messageEvent,
  newCause,
  type NewEvent,
  retryEvents,
  stateUpdate,
  statsUpdate,
  textContent,
} from './events.ts';
import type { Tools } from './tools.ts';

const PAUSED: NewEvent = { source: 'user', kind: 'PauseEvent' };
const WAS_INTERRUPTED: NewEvent = { source: 'user', kind: 'InterruptEvent' };
const NO_PRICE =
  'The price of the model is not known, so max_budget_per_task cannot be kept. Set ' +
  'agent_settings.llm.input_cost_per_token and agent_settings.llm.output_cost_per_token, or ' +
  'unset max_budget_per_task.';

const NO_COST =
  'The cost of an earlier call is not known, because the model had no price or its endpoint ' +
  'reported no tokens. Unset max_budget_per_task.';

/** A request that the state of the conversation does not allow; becomes a 409. */
export class ConflictError extends Error {}

/** A step is done when its observation is written; the next run repeats one that was cut off. */
export class RunLoop {
  readonly #conversation: Conversation;
  readonly #agent: Agent;
  readonly #isIsolated: boolean;
  readonly tools: Tools;
  #running: Promise<void> | null = null;
  #abort = new AbortController();
  #isPausing = false;
  #halted = false;

  constructor(conversation: Conversation, agent: Agent, tools: Tools, isIsolated: boolean) {
    this.#conversation = conversation;
    this.#agent = agent;
    this.#isIsolated = isIsolated;
    this.tools = tools;
  }

  start(): void {
    if (this.#running !== null) {
      throw new ConflictError('Conversation already running. Wait for completion or pause first.');
    }
    this.assertNotWaiting();
    // Genuine servers end such a run at once, and send the state.
    if (this.#conversation.state.execution_status === 'finished')
      return this.#conversation.notify(true);
    this.#launch(() => this.#loop());
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  startOrJoin(): void {
    if (this.#running === null) this.start();
  }

  /** Throws ConflictError while an action is pending: a run would execute it without approval. */
  assertNotWaiting(): void {
    if (this.#conversation.state.execution_status !== 'waiting_for_confirmation') return;
    throw new ConflictError(
      'Conversation is waiting for confirmation. Accept or reject the pending action first ' +
        '(POST events/respond_to_confirmation).',
    );
  }

  /** Answers the pending action; does nothing when none is pending, as genuine servers do. */
  respond(accept: boolean, reason: string): void {
    const { execution_status, steps_done } = this.#conversation.state;
    const cause = this.#conversation.pending();
    const step = this.#conversation.log.read('asked');
    if (execution_status !== 'waiting_for_confirmation' || cause === null || step === null) return;
    if (accept) {
      this.#launch(async () => {
        await this.#execute(step, cause);
        await this.#loop();
      });
      return;
    }
    const { action_id, ...tool } = cause;
    const rejection: NewEvent = {
      source: 'environment',
      ...tool,
      rejection_reason: reason,
      rejection_source: 'user',
      action_id,
      kind: 'UserRejectObservation',
    };
    const change = { steps_done: steps_done + 1, pending_action_id: null };
    this.#conversation.setStatus('idle', [rejection], change);
    this.tools.mcp.close();
  }

  async pause(): Promise<void> {
    if (this.#running !== null) {
      this.#isPausing = true;
      await this.#running;
    } else if (this.#conversation.state.execution_status === 'idle') {
      this.#conversation.setStatus('paused', [PAUSED]);
    }
  }

  async interrupt(): Promise<void> {
    this.tools.terminal.endLeft();
    if (this.#running === null) return;
    this.#abort.abort();
    await this.#running;
  }

  halt(): void {
    this.#halted = true;
  }

  #launch(body: () => Promise<void>): void {
    this.#abort = new AbortController();
    this.#isPausing = false;
    const { metrics, steps_done } = this.#conversation.state;
    const stats = steps_done === 0 ? [statsUpdate(metrics)] : [];
    this.#conversation.setStatus('running', stats);
    this.#running = body()
      .catch((error: unknown) => {
        if (this.#halted) return;
        const storage = storageError(error);
        const code = storage === null ? 'InternalError' : 'StorageError';
        const lost = 'The run ended before this tool call was complete.';
        try {
          this.#conversation.fail(code, storage?.text ?? (error as Error).message, lost);
        } catch {
          this.#conversation.breakOff();
        }
      })
      .finally(() => {
        this.#running = null;
        // An action that awaits approval may need what its server keeps in memory.
        const { execution_status: status } = this.#conversation.state;
        if (status !== 'waiting_for_confirmation') this.tools.mcp.close();
        // A run that is paused may wait for the command when it goes on.
        if (['finished', 'error', 'stuck'].includes(status)) this.tools.terminal.endLeft();
      });
  }

  /** Goes on until the status changes. */
  async #loop(): Promise<void> {
    const conversation = this.#conversation;
    const { max_iterations: limit } = conversation.state;
    const detail = `Agent reached maximum iterations limit (${limit}).`;
    const limitError = conversationError('MaxIterationsReached', detail);
    for (let iteration = 0; conversation.state.execution_status === 'running'; iteration += 1) {
      if (this.#halted) return;
      const { aborted } = this.#abort.signal;
      if (aborted || this.#isPausing)
        return conversation.setStatus('paused', [aborted ? WAS_INTERRUPTED : PAUSED]);
      this.#agent.renew?.();
      const reached = (await this.#budgetError()) ?? (iteration < limit ? null : limitError);
      if (reached !== null) return conversation.setStatus('error', [reached]);
      await this.#step();
    }
  }

  async #budgetError(): Promise<NewEvent | null> {
    const { model, state } = this.#conversation;
    const { accumulated_cost: cost, max_budget_per_task: budget } = state.metrics;
    if (budget === null) return null;
    const hasPrice = model === null || (await pricesOf(model.llm)) !== null;
    if (!hasPrice) return conversationError('MaxBudgetUnknown', NO_PRICE);
    if (cost === null) return conversationError('MaxBudgetUnknown', NO_COST);
    const detail = `The agent has used its budget of $${budget} (max_budget_per_task).`;
    return cost >= budget ? conversationError('MaxBudgetReached', detail) : null;
  }

  /** Writes the action of the next step before it is executed. */
  async #step(): Promise<void> {
    const conversation = this.#conversation;
    const { last_user_message_id: answered, steps_done: done } = conversation.state;
    const { signal } = this.#abort;
    const situation = { done, history: () => conversation.history(), onText: conversation.onText };
    const step = await this.#agent.next(situation, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (step === null || this.#halted) return;
    const steps_done = done + 1;
    const { events: used, change } = conversation.used(step.usage);
    const record = (events: NewEvent[], more: Partial<ConversationState>): void =>
      conversation.record([...used, ...events], { ...change, ...more });
    switch (step.type) {
      case 'break': {
        const reason = conversationError(step.code, conversation.masked(step.detail));
        const events = step.status === 'error' ? [...used, reason] : used;
        return conversation.setStatus(step.status, events, { ...change, steps_done });
      }
      case 'message':
        record([messageEvent('assistant', textContent(step.text), step.reasoning)], { steps_done });
        if (step.ends_turn) this.#endTurn(answered);
        return;
      case 'retry':
        return record(retryEvents(step), { steps_done });
      case 'condensation':
        return record([condensationEvent(step)], {});
      default:
    }
    const cause = newCause(step);
    const action = actionEvent(step, cause);
    if (step.type === 'invalid')
      return record([action, agentError(cause, step.error)], { steps_done });
    const pending = { pending_action_id: cause.action_id };
    if (!this.#needsConfirmation(step)) {
      record([action], pending);
      return this.#execute(step, cause, answered);
    }
    // Written before its event: an action without its step could never be approved.
    conversation.log.write('asked', step);
    const execution_status = 'waiting_for_confirmation';
    const waits = stateUpdate('execution_status', execution_status);
    record([action, waits], { ...pending, execution_status });
  }

  async #execute(
    step: ToolStep,
    cause: Cause,
    answered = this.#conversation.state.last_user_message_id,
  ): Promise<void> {
    const observation = await this.tools.execute(step, cause, this.#abort.signal);
    if (this.#halted) return;
    if (observation === null) {
      const lost = 'Tool call interrupted before completion. The conversation was paused.';
      this.#conversation.record([agentError(cause, lost)], { pending_action_id: null });
      this.#conversation.setStatus('paused', [WAS_INTERRUPTED]);
      return;
    }
    const steps_done = this.#conversation.state.steps_done + 1;
    this.#conversation.record([observation], { steps_done, pending_action_id: null });
    if (step.type === 'finish') this.#endTurn(answered);
  }

  /** The turn has ended unless a user message has arrived since it began. */
  #endTurn(answered: string | null): void {
    if (this.#conversation.state.last_user_message_id === answered)
      this.#conversation.setStatus('finished');
  }

  #needsConfirmation(step: ToolStep): boolean {
    if (step.type !== 'terminal' && step.type !== 'edit' && step.type !== 'mcp') return false;
    const { confirmation_policy: policy, working_dir } = this.#conversation.state;
    if (policy.kind !== 'ConfirmRisky') return policy.kind === 'AlwaysConfirm';
    if (!this.#isIsolated && !isReadOrBuild(step, working_dir, this.tools.terminal.folder))
      return true;
    const { risk = this.#isIsolated ? 'UNKNOWN' : 'LOW' } = step;
    if (risk === 'UNKNOWN') return policy.confirm_unknown;
    return RISKS.indexOf(risk) >= RISKS.indexOf(policy.threshold);
  }
}
