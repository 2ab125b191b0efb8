/**
 * The event log of a conversation as V0 has it. Pure: the same log gives the same events with the same ids, however
 * often and in whatever pieces it is read.
 */
import { actionDraft, asRecord, asText, textsOf, toolCallOf } from './actions.ts';
import { stateChanged, type V0Draft, type V0Event } from './event.ts';
import { errorDraft, observationDraft } from './observations.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';

export interface Translator {
  /**
   * Takes the next event of the log and answers what it is in V0: nothing, one event or several.
   * @param following the event after it, when there is one: the reason of a failure is written right after the failure
   */
  take(event: StoredEvent, following: StoredEvent | undefined): V0Event[];
}

/** The tools of the agent, in the form of a request to a model, as V0 shows them. */
const TOOLS = [
  ['terminal', 'Runs a command in the shell of the sandbox.', 'command', 'The command.'],
  ['file_editor', 'Shows, creates and changes files of the sandbox.', 'path', 'The file.'],
  ['think', 'Notes a thought.', 'thought', 'The thought.'],
  ['finish', 'Ends the run with a message.', 'message', 'The message.'],
].map(([name = '', description = '', member = '', meaning = '']) => {
  const parameters = {
    type: 'object',
    properties: { [member]: { type: 'string', description: meaning } },
    required: [member],
  };
  return { type: 'function', function: { name, description, parameters } };
});

/** The words of V0 for the states of a run. */
export const AGENT_STATES: Readonly<Record<string, string>> = {
  running: 'running',
  paused: 'paused',
  finished: 'finished',
  error: 'error',
  stuck: 'error',
  waiting_for_confirmation: 'awaiting_user_confirmation',
};

export function createTranslator(): Translator {
  return new LogTranslator();
}

class LogTranslator implements Translator {
  #nextId = 0;
  #agentState = '';
  /** The agent spoke last and did not finish: V0 then waits for the user. */
  #isAnswerLast = false;
  readonly #ids = new Map<string, number>();
  readonly #idsByCall = new Map<string, number>();

  take(event: StoredEvent, following: StoredEvent | undefined): V0Event[] {
    const drafts = this.#nextId === 0 ? [stateChanged('loading', '')] : [];
    const isFirst = drafts.length;
    drafts.push(...this.#drafts(event, following));
    const numbered = drafts.map((draft) => ({ id: this.#nextId++, timestamp: event.timestamp, ...draft }));
    const own = numbered[isFirst];
    if (event.kind === 'ActionEvent' && own !== undefined) {
      this.#ids.set(event.id, own.id);
      this.#idsByCall.set(asText(event.tool_call_id), own.id);
    }
    return numbered;
  }

  #drafts(event: StoredEvent, following: StoredEvent | undefined): V0Draft[] {
    switch (event.kind) {
      case 'SystemPromptEvent': {
        const content = asText(asRecord(event.system_prompt).text);
        const args = { content, tools: TOOLS, openhands_version: null, agent_class: 'CodeActAgent' };
        return [{ source: 'agent', message: content, action: 'system', args }];
      }
      case 'MessageEvent':
        return [this.#message(event)];
      case 'ActionEvent':
        if (event.source !== 'user') this.#isAnswerLast = false;
        return [actionDraft(event)];
      case 'ObservationEvent': {
        const draft = observationDraft(event, this.#causeOf(event));
        if (draft === null) return [];
        if (event.source === 'user') return [{ ...draft, source: 'user' }];
        return [{ ...draft, tool_call_metadata: toolCallOf(event) }];
      }
      case 'AgentErrorEvent':
        return [{ source: 'agent', ...this.#caused(event), ...errorDraft(asText(event.error)) }];
      case 'UserRejectObservation': {
        const content = asText(event.rejection_reason) || 'The user rejected the action.';
        // The log has `idle` only; V0 has the answer that was given, and that the agent awaits a message.
        this.#agentState = 'awaiting_user_input';
        return [
          stateChanged('user_rejected', ''),
          {
            source: 'user',
            ...this.#caused(event),
            message: content,
            observation: 'user_rejected',
            content,
            extras: {},
          },
          stateChanged('awaiting_user_input', ''),
        ];
      }
      case 'ConversationStateUpdateEvent':
        return this.#stateUpdate(event, following);
      default:
        return [];
    }
  }

  #message(event: StoredEvent): V0Draft {
    const message = asRecord(event.llm_message);
    const content = textsOf(message.content);
    const isUser = event.source === 'user';
    this.#isAnswerLast = !isUser;
    const blocks = Array.isArray(message.content) ? (message.content as unknown[]) : [];
    const images = blocks.flatMap((block): unknown[] => {
      const urls = asRecord(block).image_urls;
      return Array.isArray(urls) ? (urls as unknown[]) : [];
    });
    const args = {
      content,
      file_urls: null,
      image_urls: isUser ? images : null,
      wait_for_response: !isUser,
      security_risk: -1,
    };
    return { source: isUser ? 'user' : 'agent', message: content, action: 'message', args };
  }

  #stateUpdate(event: StoredEvent, following: StoredEvent | undefined): V0Draft[] {
    const status =
      event.key === 'execution_status'
        ? asText(event.value)
        : event.key === 'full_state'
          ? asText(asRecord(event.value).execution_status)
          : '';
    const isAnswer = status === 'finished' && this.#isAnswerLast;
    const state = isAnswer ? 'awaiting_user_input' : AGENT_STATES[status];
    if (state === undefined || state === this.#agentState) return [];
    this.#agentState = state;
    return [stateChanged(state, state === 'error' ? reasonOf(status, following) : '')];
  }

  #causeOf(event: StoredEvent): number | undefined {
    return this.#ids.get(asText(event.action_id)) ?? this.#idsByCall.get(asText(event.tool_call_id));
  }

  #caused(event: StoredEvent): { cause?: number } {
    const cause = this.#causeOf(event);
    return cause === undefined ? {} : { cause };
  }
}

function reasonOf(status: string, following: StoredEvent | undefined): string {
  if (following?.kind === 'ConversationErrorEvent') {
    return [asText(following.code), asText(following.detail)].filter((part) => part !== '').join(': ');
  }
  return status === 'stuck' ? 'AgentStuckInLoopError: Agent got stuck in a loop' : '';
}
