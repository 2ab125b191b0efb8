/**
 * The events of a conversation, built as agent server 1.34.0 writes them: members that are null are left out. Id and
 * time are given when an event is written (conversation.ts).
 */
import { randomUUID } from 'node:crypto';
import type { MessageContent } from '../../protocol/agent-server/requests.ts';
import type { EditStep, FinishStep, Risk, TerminalStep, ThinkStep } from '../agents/replay/steps.ts';
import type { Metrics } from '../storage/conversation-state.ts';

/** An event without its time; without its id, too, unless something else must name it. */
export interface NewEvent {
  id?: string;
  source: 'agent' | 'user' | 'environment';
  kind: string;
  [member: string]: unknown;
}

/** An action of the agent that a tool executes. */
export type ToolStep = TerminalStep | EditStep | ThinkStep | FinishStep;

export const TOOL_NAMES = { terminal: 'terminal', edit: 'file_editor', think: 'think', finish: 'finish' } as const;

export function textContent(text: string): { cache_prompt: boolean; type: 'text'; text: string }[] {
  return [{ cache_prompt: false, type: 'text', text }];
}

export function systemPrompt(text: string): NewEvent {
  return {
    source: 'agent',
    system_prompt: textContent(text)[0],
    tools: [],
    kind: 'SystemPromptEvent',
  };
}

export function userMessage(role: string, content: MessageContent[]): NewEvent {
  const parts = content.map((part) => ({ cache_prompt: false, ...part }));
  return {
    source: role === 'user' ? 'user' : role === 'assistant' ? 'agent' : 'environment',
    llm_message: { role, content: parts, thinking_blocks: [] },
    activated_skills: [],
    extended_content: [],
    kind: 'MessageEvent',
  };
}

export function agentMessage(text: string): NewEvent {
  return { ...userMessage('assistant', []), llm_message: assistantMessage(text) };
}

function assistantMessage(text: string): Record<string, unknown> {
  return { role: 'assistant', content: textContent(text), thinking_blocks: [] };
}

export function stateUpdate(key: string, value: unknown): NewEvent {
  return { source: 'environment', key, value, kind: 'ConversationStateUpdateEvent' };
}

/** The call of a tool. `call` ties it to its observation. */
export function action(step: ToolStep, call: string): NewEvent {
  const name = TOOL_NAMES[step.type];
  const { kind, ...parameters } = actionMembers(step);
  // As a model calls the tool: arguments that are false or empty are omitted.
  const given = JSON.stringify(Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== false)));
  return {
    source: 'agent',
    thought: textContent(step.type === 'think' ? '' : step.thought),
    thinking_blocks: [],
    action: { ...parameters, kind },
    tool_name: name,
    tool_call_id: call,
    tool_call: { id: call, name, arguments: given, origin: 'completion' },
    llm_response_id: `replay-${call}`,
    security_risk: riskOf(step),
    summary: `${name}: ${given.length > 200 ? `${given.slice(0, 200)}…` : given}`,
    kind: 'ActionEvent',
  };
}

export function riskOf(step: ToolStep): Risk {
  return step.type === 'terminal' || step.type === 'edit' ? (step.risk ?? 'UNKNOWN') : 'UNKNOWN';
}

function actionMembers(step: ToolStep): Record<string, unknown> {
  switch (step.type) {
    case 'terminal': {
      const timeout = step.timeout_seconds === undefined ? {} : { timeout: step.timeout_seconds };
      return { command: step.command, is_input: step.is_input, ...timeout, reset: step.reset, kind: 'TerminalAction' };
    }
    case 'edit': {
      const { type: _type, thought: _thought, risk: _risk, ...parameters } = step;
      return { ...parameters, kind: 'FileEditorAction' };
    }
    case 'think':
      return { thought: step.thought, kind: 'ThinkAction' };
    case 'finish':
      return { message: step.message, kind: 'FinishAction' };
  }
}

export function conversationError(code: string, detail: string): NewEvent {
  return { source: 'environment', code, detail, kind: 'ConversationErrorEvent' };
}

export const pauseEvent: NewEvent = { source: 'user', kind: 'PauseEvent' };
export const interruptEvent: NewEvent = { source: 'user', kind: 'InterruptEvent' };

/** Not part of the log: an answer to one socket only. */
export function serverError(code: string, detail: string): NewEvent {
  return { source: 'environment', code, detail, kind: 'ServerErrorEvent' };
}

/** A tool call's id. */
export function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

/** The cost of a run without a model is zero. */
export function noMetrics(model: string): Metrics {
  return {
    model_name: model,
    accumulated_cost: 0,
    max_budget_per_task: null,
    accumulated_token_usage: {
      model,
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      context_window: 0,
      per_turn_token: 0,
      response_id: '',
    },
  };
}
