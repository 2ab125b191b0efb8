/** The events of agent server 1.34.0, without members that are null. */
import { randomUUID } from 'node:crypto';
import type { MessageContent } from '../../protocol/agent-server/requests.ts';
import type {
  CondensationStep,
  InvalidStep,
  Reasoning,
  RetryStep,
  ToolStep,
} from '../base/steps.ts';
import type { BuiltInTool } from '../agents/model/definitions.ts';
import { type Metrics, shownMetrics } from '../storage/conversation-state.ts';
import { shortened } from '../../base/text/well-formed.ts';

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

export function newCause({ type, call }: Pick<ToolStep | InvalidStep, 'type' | 'call'>): Cause {
  // Some endpoints give each call the same id. Mistral accepts nine letters and digits alone.
  const tool_call_id = randomUUID().replaceAll('-', '').slice(0, 9);
  return {
    tool_name: call?.name ?? (type === 'edit' ? 'file_editor' : type),
    tool_call_id,
    action_id: randomUUID(),
  };
}

export function textContent(text: string): { cache_prompt: boolean; type: 'text'; text: string }[] {
  return [{ cache_prompt: false, type: 'text', text }];
}

export function messageEvent(
  role: string,
  content: MessageContent[],
  reasoning?: Reasoning,
): NewEvent {
  const parts = content.map((part) => ({ cache_prompt: false, ...part }));
  const source = { user: 'user', assistant: 'agent' }[role] ?? 'environment';
  return {
    source: source as NewEvent['source'],
    llm_message: { role, content: parts, ...reasoningMembers(reasoning) },
    activated_skills: [],
    extended_content: [],
    kind: 'MessageEvent',
  };
}

function reasoningMembers(reasoning?: Reasoning) {
  const { text, thinking_blocks = [], responses_reasoning_item: item } = reasoning ?? {};
  return {
    ...(text && { reasoning_content: text }),
    thinking_blocks,
    ...(item && { responses_reasoning_item: item }),
  };
}

/** The request has the role of a user for the model; its source is not the user. */
export function retryEvents(step: RetryStep & { reasoning?: Reasoning }): NewEvent[] {
  const { text, request, reasoning } = step;
  const asked = messageEvent('user', textContent(request));
  const said = text.trim() === '' ? [] : [messageEvent('assistant', textContent(text), reasoning)];
  return [...said, { ...asked, source: 'environment' }];
}

export function stateUpdate(key: string, value: unknown): NewEvent {
  return { source: 'environment', key, value, kind: 'ConversationStateUpdateEvent' };
}

export function statsUpdate(metrics: Metrics): NewEvent {
  return stateUpdate('stats', { usage_to_metrics: { agent: shownMetrics(metrics) } });
}

export function actionEvent(
  step: ToolStep | InvalidStep,
  { action_id, tool_call_id: id, tool_name: name }: Cause,
): NewEvent {
  const parameters = step.type === 'invalid' ? {} : actionParameters(step);
  // A model omits arguments that are false or empty.
  const members = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== false),
  );
  const json = step.call?.arguments ?? JSON.stringify(members);
  return {
    id: action_id,
    source: 'agent',
    thought: textContent(step.type === 'think' ? '' : step.thought),
    ...reasoningMembers(step.call?.reasoning),
    ...(step.type !== 'invalid' && { action: { ...parameters, kind: ACTIONS[step.type] } }),
    tool_name: name,
    tool_call_id: id,
    tool_call: {
      id,
      name,
      arguments: json,
      origin: 'completion',
      ...(step.call?.signature && { thought_signature: step.call.signature }),
    },
    llm_response_id: step.call?.response_id ?? `replay-${id}`,
    security_risk: 'risk' in step ? (step.risk ?? 'UNKNOWN') : 'UNKNOWN',
    summary: `${name}: ${shortened(json, 200)}`,
    kind: 'ActionEvent',
  };
}

const ACTIONS: Record<ToolStep['type'], string> = {
  terminal: 'TerminalAction',
  edit: 'FileEditorAction',
  think: 'ThinkAction',
  finish: 'FinishAction',
  task_tracker: 'TaskTrackerAction',
  mcp: 'MCPToolAction',
};

const NO_PARAMETERS = new Set(['type', 'thought', 'call', 'risk', 'usage']);

function actionParameters(step: ToolStep): Record<string, unknown> {
  if (step.type === 'think') return { thought: step.thought };
  if (step.type === 'mcp') return { data: step.data };
  const parameters = Object.entries(step).filter(([name]) => !NO_PARAMETERS.has(name));
  const { timeout_seconds, ...members } = Object.fromEntries<unknown>(parameters);
  return timeout_seconds === undefined ? members : { ...members, timeout: timeout_seconds };
}

export function agentError({ tool_name, tool_call_id }: Cause, error: string): NewEvent {
  return { source: 'agent', tool_name, tool_call_id, error, kind: 'AgentErrorEvent' };
}

export function condensationEvent(step: CondensationStep): NewEvent {
  const { forgotten_event_ids, summary, summary_offset, response_id: llm_response_id } = step;
  return {
    source: 'environment',
    forgotten_event_ids,
    summary,
    summary_offset,
    llm_response_id,
    kind: 'Condensation',
  };
}

export function conversationError(code: string, detail: string): NewEvent {
  return { source: 'environment', code, detail, kind: 'ConversationErrorEvent' };
}

export function systemPromptEvent(prompt: string, tools: readonly BuiltInTool[]): NewEvent {
  const [system_prompt] = textContent(prompt);
  const shown = tools.map(({ name, kind, description }) => {
    const changes = kind === 'Terminal' || kind === 'FileEditor';
    const hints = { readOnlyHint: !changes, destructiveHint: changes, idempotentHint: !changes };
    return {
      description,
      action_type: `${kind}Action`,
      observation_type: `${kind}Observation`,
      annotations: { title: name, ...hints, openWorldHint: kind === 'Terminal' },
      meta: null,
      kind: `${kind}Tool`,
      title: name,
    };
  });
  return { source: 'agent', system_prompt, tools: shown, kind: 'SystemPromptEvent' };
}
