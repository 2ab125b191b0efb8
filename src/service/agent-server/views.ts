/** The records of a conversation, with the members of agent server 1.34.0. */
import { createRedactor } from '../../base/text/redact.ts';
import { toDashedId } from '../../protocol/detail.ts';
import { AGENT_CONTEXT } from '../settings/settings.ts';
import type { ZipMember } from '../http/zip.ts';
import { offeredTools } from '../agents/model/definitions.ts';
import type { Conversation } from './conversation.ts';
import { answerIn, messageText, shownMetrics } from '../storage/conversation-state.ts';

const redactor = createRedactor([]);

/** What genuine servers show of features that the local service does not have. */
const UNUSED = {
  activated_knowledge_skills: [],
  invoked_skills: [],
  blocked_actions: {},
  blocked_messages: {},
  agent_state: {},
  hook_config: null,
  metrics: null,
  current_model_id: null,
  available_models: [],
  supports_runtime_model_switch: false,
  launched_agent_profile: null,
  client_tools: [],
};
const UNUSED_OF_AGENT = {
  filter_tools_regex: null,
  include_default_tools: ['FinishTool', 'ThinkTool'],
  system_prompt: null,
  system_prompt_filename: 'system_prompt.j2',
  security_policy_filename: 'security_policy.j2',
  critic: null,
  tool_concurrency_limit: 1,
};
const CONDENSER = {
  max_size: 240,
  max_tokens: null,
  keep_first: 2,
  minimum_progress: 0.1,
  hard_context_reset_max_retries: 5,
  hard_context_reset_context_scaling: 0.8,
  kind: 'LLMSummarizingCondenser',
};

export function conversationView({ id, log, state, secrets, model }: Conversation) {
  const [newest] = log.search({ limit: 1, order: 'desc' }).items;
  const source = { description: null, value: null, kind: 'StaticSecret' };
  const sources = Object.fromEntries(Object.keys(secrets).map((name) => [name, source]));
  const llm = { model: state.model, api_key: null };
  const tools = model === null ? ['terminal', 'file_editor'] : optionalTools(model.tools);
  const metrics = shownMetrics(state.metrics);
  return {
    ...UNUSED,
    id: toDashedId(id),
    workspace: { working_dir: state.working_dir, kind: 'LocalWorkspace' },
    persistence_dir: `workspace/conversations/${id}`,
    max_iterations: state.max_iterations,
    stuck_detection: true,
    execution_status: state.execution_status,
    confirmation_policy: state.confirmation_policy,
    security_analyzer: state.security_analyzer,
    last_user_message_id: state.last_user_message_id,
    leaf_event_id: newest?.id ?? null,
    stats: {
      usage_to_metrics: {
        agent: { ...metrics, costs: [], response_latencies: [], token_usages: [] },
      },
    },
    secret_registry: { secret_sources: sources },
    title: state.title,
    created_at: state.created_at,
    updated_at: state.updated_at,
    forked_from_conversation_id: state.forked_from?.conversation_id ?? null,
    forked_from_event_id: state.forked_from?.event_id ?? null,
    tags: state.tags,
    agent: {
      ...UNUSED_OF_AGENT,
      llm: { ...llm, usage_id: 'agent' },
      tools: tools.map((name) => ({ name, params: {} })),
      ...(redactor.value({ mcp_config: model?.mcp_config ?? {} }) as object),
      agent_context: {
        ...AGENT_CONTEXT,
        system_message_suffix: '',
        secrets: sources,
        current_datetime: state.created_at,
      },
      system_prompt_kwargs: {
        cli_mode: false,
        llm_security_analyzer: state.security_analyzer !== null,
      },
      condenser: { ...CONDENSER, llm: { ...llm, usage_id: 'condenser' } },
      kind: 'Agent',
    },
  };
}

function optionalTools(names: readonly string[] | null): string[] {
  const tools = offeredTools(names).map(({ name }) => name);
  return tools.filter((name) => name !== 'think' && name !== 'finish');
}

export function firstMessage(conversation: Conversation): string {
  for (const event of conversation.history()) {
    if (event.kind === 'MessageEvent' && event.source === 'user') return messageText(event).trim();
  }
  return '';
}

export function finalResponse(conversation: Conversation): string {
  let answer = '';
  for (const event of conversation.history()) answer = answerIn(event) ?? answer;
  return conversation.masked(answer);
}

export function* trajectoryMembers(conversation: Conversation): Generator<ZipMember> {
  const view = conversationView(conversation);
  const { workspace, max_iterations, confirmation_policy, agent, tags } = view;
  const meta = {
    conversation_id: view.id,
    workspace,
    max_iterations,
    confirmation_policy,
    agent,
    tags,
  };
  const member = (name: string, value: unknown): ZipMember => [
    `${conversation.id}/${name}`,
    Buffer.from(JSON.stringify(value)),
  ];
  yield member('base_state.json', view);
  yield member('meta.json', meta);
  let index = 0;
  for (const event of conversation.history(conversation.shown)) {
    yield member(`events/event-${String(index).padStart(5, '0')}-${event.id}.json`, event);
    index += 1;
  }
}
