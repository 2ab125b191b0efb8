/**
 * The run of a conversation: step after step of its agent, until the turn ends, a confirmation is needed, the user
 * pauses or interrupts, or the steps run out. A step counts as done when its observation is written; one that was cut
 * off (interrupt, crash) gets an AgentErrorEvent and is tried again by the next run.
 */
import { randomUUID } from 'node:crypto';
import type { Agent, Situation } from '../agents/agent.ts';
import type { Conversation } from './conversation.ts';
import {
  action,
  agentMessage,
  conversationError,
  interruptEvent,
  newCallId,
  pauseEvent,
  riskOf,
  stateUpdate,
  TOOL_NAMES,
  type ToolStep,
} from './events.ts';
import { agentError, type Cause, rejection } from './observations.ts';
import type { ConfirmationPolicy } from '../storage/conversation-state.ts';
import { storageError } from '../storage/storage-error.ts';
import type { Sandbox } from './sandbox.ts';
import { carryOut } from './tools.ts';

const INTERRUPTED = 'Tool call interrupted before completion. The conversation was paused.';

/** A request that the state of the conversation does not allow; becomes a 409. */
export class ConflictError extends Error {}

/** What a step did to the run. */
type Outcome = 'continue' | 'stop';

export class RunLoop {
  readonly #conversation: Conversation;
  readonly #agent: Agent;
  readonly #sandbox: Sandbox;
  #running: Promise<void> | null = null;
  #abort = new AbortController();
  #pauseWanted = false;
  #halted = false;
  /** The step whose action is written but not executed: it awaits approval. */
  #asked: ToolStep | null = null;

  constructor(conversation: Conversation, agent: Agent, sandbox: Sandbox) {
    this.#conversation = conversation;
    this.#agent = agent;
    this.#sandbox = sandbox;
  }

  /** Runs in the background. Throws ConflictError while a run is in progress or a confirmation is pending. */
  start(): void {
    if (this.#running !== null) {
      throw new ConflictError('Conversation already running. Wait for completion or pause first.');
    }
    this.assertNotWaiting();
    if (this.#conversation.state.execution_status === 'finished') return;
    this.#launch(() => this.#loop());
  }

  /** Like `start`, but does nothing during a run, which will process the new message. */
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
  async respond(accept: boolean, reason: string): Promise<void> {
    if (this.#conversation.state.execution_status !== 'waiting_for_confirmation') return;
    const cause = this.#conversation.pending();
    const step = this.#asked ?? (await this.#askedBeforeRestart());
    // Another answer may have arrived during the call of the agent.
    const isWaiting = this.#conversation.state.execution_status === 'waiting_for_confirmation';
    if (cause === null || step === null || !isWaiting) return;
    this.#asked = null;
    if (accept) {
      this.#launch(async () => {
        if ((await this.#complete(step, cause)) === 'continue') await this.#loop();
      });
      return;
    }
    const done = this.#conversation.state.steps_done + 1;
    const change = { steps_done: done, pending_action_id: null };
    this.#conversation.setStatus('idle', [rejection(cause, reason)], change);
  }

  /** Resolves when the current step has ended and the run has stopped. */
  async pause(): Promise<void> {
    if (this.#running !== null) {
      this.#pauseWanted = true;
      await this.#running;
    } else if (this.#conversation.state.execution_status === 'idle') {
      this.#conversation.setStatus('paused', [pauseEvent]);
    }
  }

  /** Ends the current step with every process it started. Resolves when the run has stopped. */
  async interrupt(): Promise<void> {
    if (this.#running === null) return;
    this.#abort.abort();
    await this.#running;
  }

  /** Nothing more is written by this run: the worker is about to end. */
  halt(): void {
    this.#halted = true;
  }

  #launch(body: () => Promise<void>): void {
    this.#abort = new AbortController();
    this.#pauseWanted = false;
    const fresh = this.#conversation.log.lastSequence() <= 3;
    const { metrics } = this.#conversation.state;
    const stats = fresh ? [stateUpdate('stats', { usage_to_metrics: { agent: metrics } })] : [];
    this.#conversation.setStatus('running', stats);
    this.#running = body()
      .catch((error: unknown) => {
        this.#fail(error as Error);
      })
      .finally(() => {
        this.#running = null;
      });
  }

  /** A full disk ends the run, too; the error event is written when there is space. */
  #fail(error: Error): void {
    if (this.#halted) return;
    const trouble = storageError(error);
    const ended = conversationError(
      trouble === null ? 'InternalError' : 'StorageError',
      trouble?.text ?? error.message,
    );
    const cause = this.#conversation.pending();
    const lost = cause === null ? [] : [agentError(cause, 'The run ended before this tool call was complete.')];
    try {
      this.#conversation.setStatus('error', [...lost, ended], { pending_action_id: null });
    } catch {
      this.#conversation.breakOff([...lost, ended]);
    }
  }

  async #loop(): Promise<void> {
    const { max_iterations: limit } = this.#conversation.state;
    for (let iteration = 0; ; iteration += 1) {
      if (this.#halted) return;
      if (this.#abort.signal.aborted) {
        this.#conversation.setStatus('paused', [interruptEvent]);
        return;
      }
      if (this.#pauseWanted) {
        this.#conversation.setStatus('paused', [pauseEvent]);
        return;
      }
      if (iteration >= limit) {
        const detail = `Agent reached maximum iterations limit (${String(limit)}).`;
        this.#conversation.setStatus('error', [conversationError('MaxIterationsReached', detail)]);
        return;
      }
      if ((await this.#step()) === 'stop') return;
    }
  }

  async #step(): Promise<Outcome> {
    const { state } = this.#conversation;
    const done = state.steps_done;
    const answered = state.last_user_message_id;
    const decision = await this.#agent.next(this.#situation(), this.#abort.signal);
    if (decision.type === 'unable') {
      this.#conversation.setStatus('error', [conversationError(decision.code, decision.detail)]);
      return 'stop';
    }
    const { step } = decision;
    if (step.type === 'message') {
      this.#conversation.record([agentMessage(step.text)], { steps_done: done + 1 });
      return step.ends_turn ? this.#endTurn(answered) : 'continue';
    }
    if (step.type === 'break') {
      const reason = step.status === 'error' ? [conversationError(step.code, step.detail)] : [];
      this.#conversation.setStatus(step.status, reason, { steps_done: done + 1 });
      return 'stop';
    }
    const cause = { tool_name: TOOL_NAMES[step.type], tool_call_id: newCallId(), action_id: randomUUID() };
    const called = { ...action(step, cause.tool_call_id), id: cause.action_id };
    if (needsConfirmation(state.confirmation_policy, step)) {
      this.#asked = step;
      const waiting = 'waiting_for_confirmation';
      this.#conversation.record([called, stateUpdate('execution_status', waiting)], {
        execution_status: waiting,
        pending_action_id: cause.action_id,
      });
      return 'stop';
    }
    this.#conversation.record([called], { pending_action_id: cause.action_id });
    return this.#complete(step, cause, answered);
  }

  async #complete(
    step: ToolStep,
    cause: Cause,
    answered = this.#conversation.state.last_user_message_id,
  ): Promise<Outcome> {
    const { state, secrets, id } = this.#conversation;
    const context = {
      sandbox: this.#sandbox,
      conversationId: id,
      workingDir: state.working_dir,
      secrets,
      signal: this.#abort.signal,
    };
    const observation = await carryOut(step, cause, context);
    if (this.#halted) return 'stop';
    if (observation === null) return this.#cutOff(cause);
    this.#conversation.record([observation], { steps_done: state.steps_done + 1, pending_action_id: null });
    return step.type === 'finish' ? this.#endTurn(answered) : 'continue';
  }

  #cutOff(cause: Cause): Outcome {
    this.#conversation.record([agentError(cause, INTERRUPTED)], { pending_action_id: null });
    this.#conversation.setStatus('paused', [interruptEvent]);
    return 'stop';
  }

  /** The turn has ended unless a user message has arrived since it began. */
  #endTurn(answered: string | null): Outcome {
    if (this.#conversation.state.last_user_message_id !== answered) return 'continue';
    this.#conversation.setStatus('finished');
    return 'stop';
  }

  #situation(): Situation {
    return { done: this.#conversation.state.steps_done, history: () => this.#conversation.history() };
  }

  /** The service was restarted while the action was pending: the agent returns it again. */
  async #askedBeforeRestart(): Promise<ToolStep | null> {
    const decision = await this.#agent.next(this.#situation(), this.#abort.signal);
    if (decision.type === 'unable' || decision.step.type === 'message' || decision.step.type === 'break') return null;
    return decision.step;
  }
}

const RISKS = ['LOW', 'MEDIUM', 'HIGH'];

/** Whether a step needs a confirmation. Finishing and thinking have no effect and never need one. */
function needsConfirmation(policy: ConfirmationPolicy, step: ToolStep): boolean {
  if (step.type !== 'terminal' && step.type !== 'edit') return false;
  if (policy.kind !== 'ConfirmRisky') return policy.kind === 'AlwaysConfirm';
  const risk = riskOf(step);
  if (risk === 'UNKNOWN') return policy.confirm_unknown;
  return RISKS.indexOf(risk) >= RISKS.indexOf(policy.threshold);
}
