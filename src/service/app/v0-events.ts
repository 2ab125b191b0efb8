/** Interface section 7.6. A log gives the same events and ids in whatever pieces it is read. */
import { isRecord } from '../../protocol/shape.ts';
import type { StoredEvent } from '../storage/conversation-state.ts';
import type { ConversationRow } from '../storage/conversations.ts';
import { parseStored } from '../storage/event-log.ts';
import type { EventLogs } from '../storage/event-logs.ts';

type Members = Record<string, unknown>;

export interface V0Event {
  id: number;
  timestamp: string;
  source: 'user' | 'agent' | 'environment';
  message: string;
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
    if (row.start_state !== 'ready') return startEvents(row);
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

/** A conversation without a log; V0 shows the state of its start as events. */
function startEvents({ start_state, created_at, updated_at, start_detail }: ConversationRow) {
  const event = (id: number, time: string, draft: Draft): V0Event => {
    return { id, timestamp: time.replace(/Z$/, ''), ...draft };
  };
  const loading = event(0, created_at, stateChanged('loading'));
  if (start_state === 'starting') return [loading];
  return [loading, event(1, updated_at, stateChanged('error', start_detail ?? ''))];
}

interface State {
  nextId: number;
  agentState: string;
  /** The agent wrote the last message and did not finish: V0 then waits for the user. */
  isAnswerLast: boolean;
  /** Ids of actions, by their id and by that of their tool call. */
  actions: Map<string, number>;
}

/** The events of V0 for each event of a log; `following`: the one after it. */
export function createTranslator(): (
  event: StoredEvent,
  following: StoredEvent | undefined,
) => V0Event[] {
  const state: State = { nextId: 0, agentState: '', isAnswerLast: false, actions: new Map() };
  return (event, following) => {
    const numbered = (draft: Draft): V0Event => ({
      id: state.nextId++,
      timestamp: event.timestamp,
      ...draft,
    });
    const loading = state.nextId === 0 ? [numbered(stateChanged('loading'))] : [];
    if (event.kind === 'ActionEvent') {
      state.actions.set(event.id, state.nextId);
      state.actions.set(asText(event.tool_call_id), state.nextId);
    }
    const drafts = EVENTS.get(event.kind)?.(event, state, following) ?? [];
    return [...loading, ...drafts.map(numbered)];
  };
}

type Translate = (event: StoredEvent, state: State, following: StoredEvent | undefined) => Draft[];

const EVENTS = new Map<string, Translate>(
  Object.entries({
    SystemPromptEvent(event) {
      const content = asText(asRecord(event.system_prompt).text);
      const agent = { openhands_version: null, agent_class: 'CodeActAgent' };
      const args = { content, tools: TOOLS, ...agent };
      return [{ source: 'agent', message: content, action: 'system', args }];
    },
    MessageEvent(event, state) {
      const isAnswer = event.source === 'agent';
      state.isAnswerLast = isAnswer;
      const { content: blocks } = asRecord(event.llm_message);
      const message = textsOf(blocks);
      const images = [blocks].flat().flatMap((each): unknown => asRecord(each).image_urls ?? []);
      const args = {
        content: message,
        file_urls: null,
        image_urls: event.source === 'user' ? images : null,
        wait_for_response: isAnswer,
        security_risk: -1,
      };
      return [{ source: event.source as Draft['source'], message, action: 'message', args }];
    },
    ActionEvent(event, state) {
      if (event.source !== 'user') state.isAnswerLast = false;
      const { kind, ...members } = asRecord(event.action);
      const translate = ACTIONS.get(asText(kind)) ?? otherAction;
      return [{ ...bySource(event), ...translate(members, commonOf(event), event) }];
    },
    ObservationEvent(event, state) {
      const draft = observationDraft(event);
      return draft === null ? [] : [{ ...bySource(event), ...causeOf(event, state), ...draft }];
    },
    AgentErrorEvent: (event, state) => [
      { source: 'agent', ...causeOf(event, state), ...errorDraft(asText(event.error)) },
    ],
    CondensationRequest() {
      const message = 'Requesting a condensation of the conversation history.';
      return [{ source: 'agent', message, action: 'condensation_request', args: {} }];
    },
    Condensation({ summary, summary_offset }) {
      const args = { forgotten_event_ids: [], summary, summary_offset };
      const message = `Summary: ${asText(summary)}`;
      return [{ source: 'agent', message, action: 'condensation', args }];
    },
    UserRejectObservation(event, state) {
      const content = asText(event.rejection_reason) || 'The user rejected the action.';
      const rejection = { message: content, observation: 'user_rejected', content, extras: {} };
      // The log has `idle` only.
      state.agentState = 'awaiting_user_input';
      return [
        stateChanged('user_rejected'),
        { source: 'user', ...causeOf(event, state), ...rejection },
        stateChanged('awaiting_user_input'),
      ];
    },
    ConversationStateUpdateEvent({ key, value }, state, following) {
      const full = key === 'full_state' ? asRecord(value).execution_status : '';
      const status = asText(key === 'execution_status' ? value : full);
      const isAnswered = status === 'finished' && state.isAnswerLast;
      const agentState = isAnswered ? 'awaiting_user_input' : AGENT_STATES[status];
      if (agentState === undefined || agentState === state.agentState) return [];
      state.agentState = agentState;
      return [stateChanged(agentState, stateReason(status, following))];
    },
  } satisfies Record<string, Translate>),
);

/** Why a run ended with this status. The event of an error follows its status. */
function stateReason(status: string, following: StoredEvent | undefined): string {
  const isError = status === 'error' || status === 'stuck';
  if (isError && following?.kind === 'ConversationErrorEvent') {
    const { code, detail } = following;
    return [asText(code), asText(detail)].filter((part) => part !== '').join(': ');
  }
  return status === 'stuck' ? 'AgentStuckInLoopError: Agent got stuck in a loop' : '';
}

function causeOf(event: StoredEvent, { actions }: State): { cause?: number } {
  const cause = actions.get(asText(event.action_id)) ?? actions.get(asText(event.tool_call_id));
  return cause === undefined ? {} : { cause };
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

const commonOf = (event: StoredEvent) => ({
  thought: textsOf(event.thought),
  security_risk: RISKS[asText(event.security_risk)] ?? -1,
});

type TranslateAction = (
  action: Members,
  common: ReturnType<typeof commonOf>,
  event: StoredEvent,
) => Pick<Draft, 'message' | 'action' | 'args'>;

const otherAction: TranslateAction = ({ data, ...members }, common, event) => {
  const name = asText(event.tool_name) || asText(asRecord(event.action).kind);
  const args = { name, arguments: data ?? members, ...common };
  return { message: `Calling the tool ${name}`, action: 'call_tool_mcp', args };
};

const runAction: TranslateAction = ({ command: given, is_input }, common) => {
  const command = asText(given);
  const fixed = {
    blocking: false,
    is_static: false,
    cwd: null,
    hidden: false,
    confirmation_state: 'confirmed',
  };
  const args = { command, is_input: is_input === true, ...common, ...fixed };
  return { message: `Running command: ${command}`, action: 'run', args };
};

const ACTIONS = new Map<string, TranslateAction>(
  Object.entries({
    TerminalAction: runAction,
    ExecuteBashAction: runAction,
    FileEditorAction({ command, path: given, ...action }, common) {
      const path = asText(given);
      const args = { path, ...common, start: 0, end: -1 };
      if (command === 'create') {
        const content = asText(action.file_text);
        return { message: `Writing file: ${path}`, action: 'write', args: { ...args, content } };
      }
      if (command === 'view') {
        const [start, end] = [action.view_range].flat();
        if (typeof start === 'number') args.start = start - 1;
        if (typeof end === 'number') args.end = end;
        return { message: `Reading file: ${path}`, action: 'read', args };
      }
      const { old_str = null, new_str = null, insert_line = null } = action;
      const edit = { command, file_text: null, old_str, new_str, insert_line, content: '' };
      const edited = { ...args, ...edit, start: 1 };
      return { message: `Editing file: ${path}`, action: 'edit', args: edited };
    },
    FinishAction({ message: given }, { thought }) {
      const message = asText(given);
      return { message, action: 'finish', args: { final_thought: message, outputs: {}, thought } };
    },
    ThinkAction({ thought: given }) {
      const thought = asText(given);
      return { message: thought, action: 'think', args: { thought } };
    },
    TaskTrackerAction({ command, task_list }, { thought }) {
      const args = { command, task_list, thought };
      return { message: 'Managing the list of tasks.', action: 'task_tracking', args };
    },
  } satisfies Record<string, TranslateAction>),
);

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
  return editorDraft(observation, content);
}

function editorDraft({ path: file, command, ...observation }: Members, content: string): Observed {
  const path = asText(file);
  if (command === 'view') {
    const extras = { path, impl_source: 'default' };
    return { message: `I read the file ${path}.`, observation: 'read', content, extras };
  }
  if (command === 'create') {
    const message = `I wrote to the file ${path}.`;
    return { message, observation: 'write', content, extras: { path } };
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
