/** The one-line text of an event of either dialect. The text is untrusted: src/output escapes it. */
import { isRecord, textOf, firstLine, type Members } from './event-parts.ts';

/** V1 (interface 7.2): by kind; the text of an unknown kind is its name. */
export function eventTextV1(kind: string, payload: Members): string {
  switch (kind) {
    case 'MessageEvent':
      return contentText(isRecord(payload['llm_message']) ? payload['llm_message']['content'] : null);
    case 'ActionEvent':
      return actionText(payload);
    case 'ObservationEvent':
      return observationText(payload);
    case 'AgentErrorEvent':
      return `error in ${textOf(payload['tool_name']) || 'a tool'}: ${firstLine(textOf(payload['error']))}`;
    case 'UserRejectObservation':
      return `rejected ${textOf(payload['tool_name'])}: ${firstLine(textOf(payload['rejection_reason']))}`;
    case 'ConversationStateUpdateEvent':
      return stateText(payload);
    case 'ConversationErrorEvent':
    case 'ServerErrorEvent':
      return `${textOf(payload['code']) || 'error'}: ${firstLine(textOf(payload['detail']))}`;
    case 'PauseEvent':
      return 'paused';
    case 'InterruptEvent':
      return 'interrupted';
    case 'SystemPromptEvent':
      return 'system prompt';
    case 'Condensation':
      return `history condensed: ${firstLine(textOf(payload['summary']))}`;
    case 'CondensationRequest':
      return 'condensation of the history requested';
    case 'CondensationSummaryEvent':
      return `summary: ${firstLine(textOf(payload['summary']))}`;
    default:
      return kind;
  }
}

/** V0 (interface 7.6): the server's own reading where it gives one. */
export function eventTextV0(action: string | null, observation: string | null, payload: Members): string {
  const args = isRecord(payload['args']) ? payload['args'] : {};
  const extras = isRecord(payload['extras']) ? payload['extras'] : {};
  if (action === 'message') return firstLine(textOf(args['content']));
  if (action === 'run') return `$ ${firstLine(textOf(args['command']))}`;
  if (action === 'finish') return firstLine(textOf(args['final_thought']) || textOf(payload['message']) || 'finished');
  if (action === 'think') return firstLine(textOf(args['thought']));
  if (action === 'system') return 'system prompt';
  if (observation === 'agent_state_changed') {
    const reason = textOf(extras['reason']);
    return `${textOf(extras['agent_state'])}${reason === '' ? '' : `: ${firstLine(reason)}`}`;
  }
  if (observation === 'error') return `error: ${firstLine(textOf(payload['content']))}`;
  const message = firstLine(textOf(payload['message']));
  if (message !== '') return message;
  const content = firstLine(textOf(payload['content']));
  return content === '' ? (action ?? observation ?? 'event') : content;
}

function actionText(payload: Members): string {
  const action = payload['action'];
  const tool = textOf(payload['tool_name']);
  if (!isRecord(action)) return `${tool || 'action'} (not carried out)`;
  switch (textOf(action['kind'])) {
    case 'TerminalAction':
    case 'ExecuteBashAction':
      return `$ ${firstLine(textOf(action['command']))}`;
    case 'FileEditorAction':
    case 'StrReplaceEditorAction':
      return `${textOf(action['command'])} ${textOf(action['path'])}`.trim();
    case 'FinishAction':
      return firstLine(textOf(action['message'])) || 'finished';
    case 'ThinkAction':
      return firstLine(textOf(action['thought']));
    default:
      return firstLine(textOf(payload['summary'])) || tool || textOf(action['kind']) || 'action';
  }
}

function observationText(payload: Members): string {
  const observation = payload['observation'];
  const tool = textOf(payload['tool_name']);
  if (!isRecord(observation)) return tool || 'observation';
  const content = contentText(observation['content']);
  const exitCode = observation['exit_code'];
  if (typeof exitCode === 'number' && exitCode > 0) return `exit ${exitCode}${content === '' ? '' : `: ${content}`}`;
  if (observation['is_error'] === true) return `error: ${content}`;
  return content === '' ? (tool === '' ? 'done' : `${tool}: done`) : content;
}

function stateText(payload: Members): string {
  const key = textOf(payload['key']);
  const value = payload['value'];
  if (typeof value === 'string') return `${key}: ${firstLine(value)}`;
  if (typeof value === 'number' || typeof value === 'boolean') return `${key}: ${value}`;
  return key || 'state';
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return firstLine(content);
  if (!Array.isArray(content)) return '';
  const texts = content
    .map((item: unknown) => (isRecord(item) ? textOf(item['text']) : ''))
    .filter((text) => text !== '');
  const images = content.filter((item: unknown) => isRecord(item) && item['type'] === 'image').length;
  const line = firstLine(texts.join('\n'));
  return images === 0 ? line : `${line} [${images} image${images === 1 ? '' : 's'}]`.trim();
}
