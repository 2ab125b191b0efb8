/**
 * Interface section 7.6. The same log gives the same events with the same ids, in whatever pieces
 * it is read.
 */
import { isRecord } from '../../protocol/shape.ts';
import type { StoredEvent } from '../storage/conversation-state.ts';
import type { ConversationRow } from '../storage/conversations.ts';
import { parseStored } from '../storage/event-log.ts';
import type { EventLogs } from '../storage/event-logs.ts';

type Members = Record<string, unknown>;

export interface V0Event {
  /** From 0, without a gap. */
  id: number;
  timestamp: string;
  source: 'user' | 'agent' | 'environment';
  message: string;
  /** Id of the action that an observation answers. */
  cause?: number;
  action?: string;
  args?: Members;
  observation?: string;
  content?: string;
  extras?: Members;
  success?: boolean;
  tool_call_metadata?: Members;
}

type Draft = Omit<V0Event, 'id' | 'timestamp'>;

export const AGENT_STATES: Readonly<Record<string, string>> = {
  running: 'running',
  paused: 'paused',
  finished: 'finished',
  error: 'error',
  stuck: 'error',
  waiting_for_confirmation: 'awaiting_user_confirmation',
};

const RISKS: Record<string, number> = { UNKNOWN: -1, LOW: 0, MEDIUM: 1, HIGH: 2 };

const TOOLS = [
  ['terminal', 'Runs a command in the shell of the sandbox.', 'command', 'The command.'],
  ['file_editor', 'Shows, creates and changes files of the sandbox.', 'path', 'The file.'],
  ['think', 'Notes a thought.', 'thought', 'The thought.'],
  ['finish', 'Ends the run with a message.', 'message', 'The message.'],
].map(([name = '', description = '', member = '', meaning = '']) => {
  const properties = { [member]: { type: 'string', description: meaning } };
  const parameters = { type: 'object', properties, required: [member] };
  return { type: 'function', function: { name, description, parameters } };
});

/** The number of conversations whose events are kept between reads. */
const MAX_KEPT = 16;
const PAGE = 500;

export type V0EventReader = (row: ConversationRow) => readonly V0Event[];

export function createV0EventReader(logs: EventLogs): V0EventReader {
  /** `position`: the number of events of the log that have been translated. */
  const none = (sandboxId: string | null) => ({
    sandboxId,
    take: createTranslator(),
    events: [] as V0Event[],
    position: 0,
  });
  const kept = new Map<string, ReturnType<typeof none>>();
  return (row) => {
    if (row.start_state !== 'ready') {
      // It has no log; V0 shows its state as events.
      const { created_at, updated_at, start_detail } = row;
      const loading = {
        id: 0,
        timestamp: created_at.replace(/Z$/, ''),
        ...stateChanged('loading'),
      };
      const failed = {
        id: 1,
        timestamp: updated_at.replace(/Z$/, ''),
        ...stateChanged('error', start_detail ?? ''),
      };
      return row.start_state === 'failed' ? [loading, failed] : [loading];
    }
    const known = kept.get(row.id);
    const state = known?.sandboxId === row.sandbox_id ? known : none(row.sandbox_id);
    kept.delete(row.id);
    kept.set(row.id, state); // the most recently used one is the last
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    const added: StoredEvent[] = [];
    logs.read(row, (log) => {
      for (;;) {
        const page = log.readAfter(state.position, PAGE);
        if (page.length === 0) return;
        added.push(...page.map(({ json }) => parseStored<StoredEvent>(json)));
        state.position += page.length;
      }
    });
    for (const [index, event] of added.entries())
      state.events.push(...state.take(event, added[index + 1]));
    return state.events;
  };
}

export function createTranslator(): (
  event: StoredEvent,
  following: StoredEvent | undefined,
) => V0Event[] {
  let nextId = 0;
  let agentState = '';
  // The agent wrote the last message and did not finish: V0 then waits for the user.
  let isAnswerLast = false;
  /** Ids of actions, by their id and by that of their tool call. */
  const actions = new Map<string, number>();

  const caused = (event: StoredEvent): { cause?: number } => {
    const cause = actions.get(asText(event.action_id)) ?? actions.get(asText(event.tool_call_id));
    return cause === undefined ? {} : { cause };
  };
  const draftsOf = (event: StoredEvent, following: StoredEvent | undefined): Draft[] => {
    switch (event.kind) {
      case 'SystemPromptEvent': {
        const content = asText(asRecord(event.system_prompt).text);
        const args = {
          content,
          tools: TOOLS,
          openhands_version: null,
          agent_class: 'CodeActAgent',
        };
        return [{ source: 'agent', message: content, action: 'system', args }];
      }
      case 'MessageEvent': {
        isAnswerLast = event.source !== 'user';
        const { content: blocks } = asRecord(event.llm_message);
        const content = textsOf(blocks);
        const images = (Array.isArray(blocks) ? blocks : []).flatMap(
          (each): unknown => asRecord(each).image_urls ?? [],
        );
        const image_urls = isAnswerLast ? null : images;
        const args = {
          content,
          file_urls: null,
          image_urls,
          wait_for_response: isAnswerLast,
          security_risk: -1,
        };
        return [
          { source: isAnswerLast ? 'agent' : 'user', message: content, action: 'message', args },
        ];
      }
      case 'ActionEvent':
        if (event.source !== 'user') isAnswerLast = false;
        return [{ ...bySource(event), ...actionDraft(event) }];
      case 'ObservationEvent': {
        const draft = observationDraft(event);
        return draft === null ? [] : [{ ...bySource(event), ...caused(event), ...draft }];
      }
      case 'AgentErrorEvent':
        return [{ source: 'agent', ...caused(event), ...errorDraft(asText(event.error)) }];
      case 'CondensationRequest': {
        const message = 'Requesting a condensation of the conversation history.';
        return [{ source: 'agent', message, action: 'condensation_request', args: {} }];
      }
      case 'Condensation': {
        const { summary, summary_offset } = event;
        const args = { forgotten_event_ids: [], summary, summary_offset };
        return [
          { source: 'agent', message: `Summary: ${asText(summary)}`, action: 'condensation', args },
        ];
      }
      case 'UserRejectObservation': {
        const content = asText(event.rejection_reason) || 'The user rejected the action.';
        const rejection = { message: content, observation: 'user_rejected', content, extras: {} };
        // The log has `idle` only; V0 has the answer that was given, and that the agent awaits a
        // message.
        agentState = 'awaiting_user_input';
        return [
          stateChanged('user_rejected'),
          { source: 'user', ...caused(event), ...rejection },
          stateChanged('awaiting_user_input'),
        ];
      }
      case 'ConversationStateUpdateEvent': {
        const { key, value } = event;
        const full = key === 'full_state' ? asRecord(value).execution_status : '';
        const status = asText(key === 'execution_status' ? value : full);
        const state =
          status === 'finished' && isAnswerLast ? 'awaiting_user_input' : AGENT_STATES[status];
        if (state === undefined || state === agentState) return [];
        agentState = state;
        let reason = status === 'stuck' ? 'AgentStuckInLoopError: Agent got stuck in a loop' : '';
        if (state === 'error' && following?.kind === 'ConversationErrorEvent') {
          const { code, detail } = following;
          reason = [asText(code), asText(detail)].filter((part) => part !== '').join(': ');
        }
        return [stateChanged(state, reason)];
      }
      default:
        return [];
    }
  };
  return (event, following) => {
    const numbered = (draft: Draft): V0Event => ({
      id: nextId++,
      timestamp: event.timestamp,
      ...draft,
    });
    const loading = nextId === 0 ? [numbered(stateChanged('loading'))] : [];
    if (event.kind === 'ActionEvent') {
      actions.set(event.id, nextId);
      actions.set(asText(event.tool_call_id), nextId);
    }
    return [...loading, ...draftsOf(event, following).map(numbered)];
  };
}

function stateChanged(agent_state: string, reason = ''): Draft {
  const extras = { agent_state, reason };
  return {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras,
  };
}

function actionDraft(event: StoredEvent): Pick<Draft, 'message' | 'action' | 'args'> {
  const action = asRecord(event.action);
  const common = {
    thought: textsOf(event.thought),
    security_risk: RISKS[asText(event.security_risk)] ?? -1,
  };
  const { kind, data, ...members } = action;
  switch (kind) {
    case 'TerminalAction':
    case 'ExecuteBashAction': {
      const command = asText(action.command);
      const fixed = {
        blocking: false,
        is_static: false,
        cwd: null,
        hidden: false,
        confirmation_state: 'confirmed',
      };
      const args = { command, is_input: action.is_input === true, ...common, ...fixed };
      return { message: `Running command: ${command}`, action: 'run', args };
    }
    case 'FileEditorAction': {
      const path = asText(action.path);
      const args = { path, ...common, start: 0, end: -1 };
      if (action.command === 'create') {
        const content = asText(action.file_text);
        return { message: `Writing file: ${path}`, action: 'write', args: { ...args, content } };
      }
      if (action.command === 'view') {
        const [start, end] = Array.isArray(action.view_range)
          ? (action.view_range as unknown[])
          : [];
        if (typeof start === 'number') args.start = start - 1;
        if (typeof end === 'number') args.end = end;
        return { message: `Reading file: ${path}`, action: 'read', args };
      }
      const { command, old_str = null, new_str = null, insert_line = null } = action;
      const edit = { command, file_text: null, old_str, new_str, insert_line, content: '' };
      return {
        message: `Editing file: ${path}`,
        action: 'edit',
        args: { ...args, ...edit, start: 1 },
      };
    }
    case 'FinishAction': {
      const message = asText(action.message);
      return {
        message,
        action: 'finish',
        args: { final_thought: message, outputs: {}, thought: common.thought },
      };
    }
    case 'ThinkAction': {
      const thought = asText(action.thought);
      return { message: thought, action: 'think', args: { thought } };
    }
    case 'TaskTrackerAction': {
      const { command, task_list: tasks } = action;
      const args = { command, task_list: tasks, thought: common.thought };
      return { message: 'Managing the list of tasks.', action: 'task_tracking', args };
    }
    default: {
      const name = asText(event.tool_name) || asText(kind);
      const args = { name, arguments: data ?? members, ...common };
      return { message: `Calling the tool ${name}`, action: 'call_tool_mcp', args };
    }
  }
}

/** The user runs commands too, without a call by a model. */
function bySource(event: StoredEvent): Pick<Draft, 'source' | 'tool_call_metadata'> {
  if (event.source === 'user') return { source: 'user' };
  const call = { function_name: asText(event.tool_name), tool_call_id: asText(event.tool_call_id) };
  return {
    source: 'agent',
    tool_call_metadata: { ...call, model_response: null, total_calls_in_response: 1 },
  };
}

type Observed = Pick<Draft, 'message' | 'observation' | 'content' | 'extras'> & {
  success?: boolean;
};

function observationDraft(event: StoredEvent): Observed | null {
  const observation = asRecord(event.observation);
  const content = textsOf(observation.content);
  switch (observation.kind) {
    case 'TerminalObservation':
    case 'ExecuteBashObservation': {
      const command = asText(observation.command);
      const exit_code = typeof observation.exit_code === 'number' ? observation.exit_code : -1;
      const unknown = { username: null, hostname: null, py_interpreter_path: null };
      const metadata = { ...unknown, ...asRecord(observation.metadata), exit_code };
      const message = `Command \`${command}\` executed with exit code ${exit_code}.`;
      const extras = { command, metadata, hidden: false };
      return { message, observation: 'run', content, extras, success: exit_code === 0 };
    }
    case 'FinishObservation':
      return null;
    case 'ThinkObservation': {
      const noted = {
        message: 'I have noted the thought.',
        content: 'Your thought has been logged.',
      };
      return { ...noted, observation: 'think', extras: {} };
    }
  }
  if (observation.is_error === true) return errorDraft(content);
  if (observation.kind === 'TaskTrackerObservation') {
    const { command, task_list } = observation;
    return {
      message: content,
      observation: 'task_tracking',
      content,
      extras: { command, task_list },
    };
  }
  if (observation.kind !== 'FileEditorObservation') {
    const name = asText(event.tool_name) || asText(observation.kind);
    return { message: content, observation: 'mcp', content, extras: { name } };
  }
  const path = asText(observation.path);
  if (observation.command === 'view') {
    const extras = { path, impl_source: 'default' };
    return { message: `I read the file ${path}.`, observation: 'read', content, extras };
  }
  if (observation.command === 'create') {
    return {
      message: `I wrote to the file ${path}.`,
      observation: 'write',
      content,
      extras: { path },
    };
  }
  const { prev_exist = true, old_content = null, new_content = null } = observation;
  const extras = { path, prev_exist, old_content, new_content, impl_source: 'default', diff: null };
  return { message: `I edited the file ${path}.`, observation: 'edit', content, extras };
}

function errorDraft(content: string): Observed {
  return {
    message: content,
    observation: 'error',
    content,
    extras: { error_id: '' },
    success: false,
  };
}

function asRecord(value: unknown): Members {
  return isRecord(value) ? value : {};
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(blocks: unknown): string {
  if (!Array.isArray(blocks)) return asText(blocks);
  return blocks
    .map((block) => asText(asRecord(block).text))
    .filter((text) => text !== '')
    .join('\n');
}
