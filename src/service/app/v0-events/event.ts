/** An event as V0 shows it (interface section 7.6): an action with arguments, or an observation with content. */
export interface V0Event {
  /** From 0, without a gap. */
  id: number;
  timestamp: string;
  source: 'user' | 'agent' | 'environment';
  message: string;
  /** Id of the action that an observation answers. */
  cause?: number;
  action?: string;
  args?: Record<string, unknown>;
  observation?: string;
  content?: string;
  extras?: Record<string, unknown>;
  success?: boolean;
  tool_call_metadata?: Record<string, unknown>;
}

/** An event that has no id yet. */
export type V0Draft = Omit<V0Event, 'id' | 'timestamp'>;

/** The agent is in another state. */
export function stateChanged(agentState: string, reason: string): V0Draft {
  return {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: agentState, reason },
  };
}
