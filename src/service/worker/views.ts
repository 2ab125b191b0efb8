/** What the agent server shows of a conversation, member for member as agent server 1.34.0 does. */
import { toDashedId } from '../../protocol/detail.ts';
import type { ConversationEntry } from './conversations.ts';

/** The record of a conversation, also the value of the `full_state` frame of a socket. */
export function conversationView({ conversation }: ConversationEntry): Record<string, unknown> {
  const { state, secrets } = conversation;
  const newest = conversation.log.search({ limit: 1, order: 'desc' }).items[0];
  const sources = Object.keys(secrets).map((name) => [name, { description: null, value: null, kind: 'StaticSecret' }]);
  return {
    id: toDashedId(conversation.id),
    workspace: { working_dir: state.working_dir, kind: 'LocalWorkspace' },
    persistence_dir: `workspace/conversations/${conversation.id}`,
    max_iterations: state.max_iterations,
    stuck_detection: true,
    execution_status: state.execution_status,
    confirmation_policy: state.confirmation_policy,
    security_analyzer: state.security_analyzer,
    activated_knowledge_skills: [],
    invoked_skills: [],
    blocked_actions: {},
    blocked_messages: {},
    last_user_message_id: state.last_user_message_id,
    leaf_event_id: newest?.id ?? null,
    stats: { usage_to_metrics: { agent: { ...state.metrics, costs: [], response_latencies: [], token_usages: [] } } },
    secret_registry: { secret_sources: Object.fromEntries(sources) as unknown },
    agent_state: {},
    hook_config: null,
    title: state.title,
    metrics: null,
    created_at: state.created_at,
    updated_at: state.updated_at,
    forked_from_conversation_id: null,
    forked_from_event_id: null,
    tags: state.tags,
    current_model_id: null,
    available_models: [],
    supports_runtime_model_switch: false,
    launched_agent_profile: null,
    agent: {
      llm: { model: state.model, api_key: null, usage_id: 'agent' },
      tools: [
        { name: 'terminal', params: {} },
        { name: 'file_editor', params: {} },
      ],
      mcp_config: {},
      include_default_tools: ['FinishTool', 'ThinkTool'],
      kind: 'Agent',
    },
    client_tools: [],
  };
}

/** The final answer to the newest words of the user; empty when there is none yet. */
export function finalResponse({ conversation }: ConversationEntry): string {
  let answer = '';
  for (const event of conversation.history()) {
    if (event.kind === 'MessageEvent') {
      const message = event['llm_message'] as { content: { text?: string }[] };
      answer = event.source === 'agent' ? message.content.map((part) => part.text ?? '').join('') : '';
    } else if (event.kind === 'ActionEvent') {
      const action = event['action'] as { kind: string; message?: string };
      if (action.kind === 'FinishAction') answer = action.message ?? '';
    }
  }
  return answer;
}
