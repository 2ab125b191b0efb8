/** The events of a conversation as agent server 1.34.0 writes them: members that are null are left out. */
import { randomUUID } from 'node:crypto';
import type { MessageContent } from '../../protocol/agent-server/requests.ts';
import type { ToolStep } from '../agents/replay/steps.ts';

export interface NewEvent {
  id?: string;
  source: 'agent' | 'user' | 'environment';
  kind: string;
  [member: string]: unknown;
}

export interface Cause {
  tool_name: string;
  tool_call_id: string;
  action_id: string;
}

export function newCause({ type }: ToolStep): Cause {
  const call = `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
  return { tool_name: type === 'edit' ? 'file_editor' : type, tool_call_id: call, action_id: randomUUID() };
}

export function textContent(text: string): { cache_prompt: boolean; type: 'text'; text: string }[] {
  return [{ cache_prompt: false, type: 'text', text }];
}

export function messageEvent(role: string, content: MessageContent[]): NewEvent {
  const parts = content.map((part) => ({ cache_prompt: false, ...part }));
  return {
    source: role === 'user' ? 'user' : role === 'assistant' ? 'agent' : 'environment',
    llm_message: { role, content: parts, thinking_blocks: [] },
    activated_skills: [],
    extended_content: [],
    kind: 'MessageEvent',
  };
}

export function stateUpdate(key: string, value: unknown): NewEvent {
  return { source: 'environment', key, value, kind: 'ConversationStateUpdateEvent' };
}

export function actionEvent(step: ToolStep, { action_id, tool_call_id: call, tool_name: name }: Cause): NewEvent {
  const { kind, ...parameters } = actionMembers(step);
  // As a model calls the tool: arguments that are false or empty are omitted.
  const given = JSON.stringify(Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== false)));
  return {
    id: action_id,
    source: 'agent',
    thought: textContent(step.type === 'think' ? '' : step.thought),
    thinking_blocks: [],
    action: { ...parameters, kind },
    tool_name: name,
    tool_call_id: call,
    tool_call: { id: call, name, arguments: given, origin: 'completion' },
    llm_response_id: `replay-${call}`,
    security_risk: 'risk' in step ? (step.risk ?? 'UNKNOWN') : 'UNKNOWN',
    summary: `${name}: ${given.length > 200 ? `${given.slice(0, 200)}…` : given}`,
    kind: 'ActionEvent',
  };
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

export function agentError({ tool_name, tool_call_id }: Cause, error: string): NewEvent {
  return { source: 'agent', tool_name, tool_call_id, error, kind: 'AgentErrorEvent' };
}

export function conversationError(code: string, detail: string): NewEvent {
  return { source: 'environment', code, detail, kind: 'ConversationErrorEvent' };
}
