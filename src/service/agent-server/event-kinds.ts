/**
 * Where the kinds of events are defined at a genuine agent server: its searches find a kind by that path alone, and
 * nothing by the short name.
 */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  acp_tool_call: ['ACPToolCallEvent'],
  condenser: ['Condensation', 'CondensationRequest', 'CondensationSummaryEvent'],
  conversation_error: ['ConversationErrorEvent'],
  conversation_state: ['ConversationStateUpdateEvent'],
  hook_execution: ['HookExecutionEvent'],
  llm_completion_log: ['LLMCompletionLogEvent'],
  'llm_convertible.action': ['ActionEvent'],
  'llm_convertible.message': ['MessageEvent'],
  'llm_convertible.observation': ['AgentErrorEvent', 'ObservationEvent', 'UserRejectObservation'],
  'llm_convertible.system': ['SystemPromptEvent'],
  token: ['TokenEvent'],
  user_action: ['InterruptEvent', 'PauseEvent'],
};

/** The kind at a path such as `openhands.sdk.event.user_action.PauseEvent`; empty, which is no kind, where there is none. */
export function kindAtPath(path: string): string {
  const [, module = '', kind = ''] = /^openhands\.sdk\.event\.([\w.]+)\.(\w+)$/.exec(path) ?? [];
  return MODULES[module]?.includes(kind) === true ? kind : '';
}
